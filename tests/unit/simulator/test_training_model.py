"""The training-time model against the published figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kafkabal.errors import UsageError
from kafkabal.simulator.storage_profiles import PROFILES, StorageProfile
from kafkabal.simulator.training_model import TrainingJob, training_time
from kafkabal.simulator.training_setup import TrainingSetup, load_trainings

ARTICLE_BYTES = 60e9
ARTICLE = {"local-ssd": (120, 900, 0.02), "nfs": (240, 1200, 0.04), "lustre": (60, 720, 0.01)}
READ_BOUND = TrainingJob(compute_s=1e-6, prefetch_batches=2)


def _load(name: str, path: Path | None = None) -> TrainingSetup:
    return load_trainings([name], path)[name]


@pytest.mark.parametrize("name", ARTICLE)
def test_profiles_give_the_figures_of_the_article(name: str) -> None:
    """Load, training and inference time follow from the profile's own parameters."""
    time = training_time(np.array([ARTICLE_BYTES]), TrainingJob(), PROFILES[name])

    assert (time.load_s, time.train_s, round(time.inference_s, 2)) == pytest.approx(ARTICLE[name])


def test_shard_of_twice_the_mean_costs_half() -> None:
    """If reading dominates, a shard of twice the mean halves the speed; equal shards cost nothing."""
    uneven = training_time(np.array([20.0, 5, 5, 10]) * 1e9, READ_BOUND, PROFILES["nfs"])
    even = training_time(np.full(4, 1e10), READ_BOUND, PROFILES["nfs"])

    assert uneven.slowdown == pytest.approx(0.5, abs=0.001)
    assert even.slowdown == pytest.approx(0)


def test_computing_hides_prefetching() -> None:
    """A job that computes longer than it reads loses nothing to unequal shards once it prefetches."""
    slow = TrainingJob(compute_s=0.1, prefetch_batches=4)
    shards = np.array([20.0, 5, 5, 10]) * 1e9

    assert training_time(shards, slow, PROFILES["nfs"]).slowdown < 0.001
    without = training_time(shards, TrainingJob(compute_s=0.1), PROFILES["nfs"])
    assert without.slowdown > 0.01


def test_cache_saves_all_epochs_but_the_first() -> None:
    """What fits into the cache is read once."""
    shards, job = np.array([1e9]), TrainingJob(epochs=5, compute_s=0.0)
    plain = training_time(shards, job, PROFILES["nfs"])
    cached = training_time(shards, TrainingJob(epochs=5, compute_s=0.0, cache_bytes=1e9), PROFILES["nfs"])

    assert plain.train_s == pytest.approx(5 * cached.train_s)


def test_rates_of_brokers_are_read_from_the_file(tmp_path: Path) -> None:
    """A broker may have a read rate of its own; a single rate applies to all and replaces the profile's."""
    (tmp_path / "t.yaml").write_text("read_rate: {default: 300MB/s, 3: 50MB/s}")
    setup = _load("nfs", tmp_path / "t.yaml")
    assert setup.rates(np.array([1, 3], np.int32)).tolist() == [300e6, 50e6]
    setup.check_brokers(np.array([1, 3], np.int32))
    with pytest.raises(UsageError, match="unknown broker in read_rate: 3"):
        setup.check_brokers(np.array([1, 2], np.int32))

    (tmp_path / "t.yaml").write_text("read_rate: {3: 50MB/s}")
    assert _load("nfs", tmp_path / "t.yaml").rates(np.array([1, 3], np.int32)).tolist() == [250e6, 50e6]
    (tmp_path / "t.yaml").write_text("read_rate: 90MB/s")
    assert _load("nfs", tmp_path / "t.yaml").rates(np.array([1, 3], np.int32)).tolist() == [90e6, 90e6]
    (tmp_path / "t.yaml").write_text("read_rate: {3: 0MB/s}")
    with pytest.raises(UsageError, match="must be above 0"):
        _load("nfs", tmp_path / "t.yaml")
    (tmp_path / "t.yaml").write_text("job: {batch: 64, epochs: 0}")
    with pytest.raises(UsageError, match="line 1: epochs: must be above 0: '0'"):
        _load("nfs", tmp_path / "t.yaml")


def test_slow_shards_take_their_own_rate() -> None:
    """A broker of half the rate delays everybody, unless it has half the bytes."""
    rates = np.array([1e8, 5e7])
    wait = training_time(np.array([1e9, 1e9]), READ_BOUND, PROFILES["nfs"], rates)
    fair = training_time(np.array([1e9, 5e8]), READ_BOUND, PROFILES["nfs"], rates)

    assert wait.load_s == 20
    assert wait.slowdown > 0.2
    assert fair.load_s == 10


def test_balanced_shards_take_equally_long() -> None:
    """A faster broker is not due so many records that the latency of each makes it the slowest."""
    job, nas = TrainingJob(compute_s=0.0, epochs=1, record_bytes=1000), StorageProfile(bytes_per_s=1e8, latency_s=0.001)
    rates = np.array([1e8, 9e8])
    # 1000 bytes take 10 us and 1 ms, or 1.11 us and 1 ms
    shards = 1e9 / np.array([1010, 1000 + 10 / 9])

    assert training_time(shards, job, nas, rates).slowdown == pytest.approx(0, abs=1e-9)
    assert training_time(np.array([1e9, 1e9]), job, nas, rates).slowdown == pytest.approx(1 - 1005.54 / 1010, abs=1e-5)
    assert training_time(np.array([1e9, 9e9]), job, nas, rates).slowdown > 0.4


def test_a_cache_never_turns_a_loss_into_a_gain() -> None:
    """Shards that suit the later epochs better than balanced ones lose nothing."""
    job = TrainingJob(compute_s=0.0, epochs=100, cache_bytes=1e9)
    time = training_time(np.array([1.4e9, 1.9e9]), job, StorageProfile(bytes_per_s=1e8), np.array([1e8, 2e8]))

    assert time.even_train_s > time.train_s
    assert time.slowdown == 0


def test_a_record_is_as_long_as_in_the_data_unless_the_file_says_so(tmp_path: Path) -> None:
    """Without a record size, that of the simulated records counts, and a default only if there are none."""
    (tmp_path / "t.yaml").write_text("job: {epochs: 3}")
    (tmp_path / "own.yaml").write_text("job: {record: 110kB}")
    setup = _load("nfs", tmp_path / "t.yaml")

    assert _load("nfs").job_on(1009.0) == TrainingJob(record_bytes=1009.0)
    assert setup.job_on(1009.0) == TrainingJob(epochs=3, record_bytes=1009.0)
    assert setup.job_on(0.0) == TrainingJob(epochs=3)
    assert _load("nfs", tmp_path / "own.yaml").job_on(1009.0).record_bytes == 110_000


def test_profiles_and_job_come_from_a_file(tmp_path: Path) -> None:
    """A user's own storage and job are read; a mistake is named with its line."""
    file = tmp_path / "training.yaml"
    file.write_text("profiles: {nas: {rate: 300MB/s, latency: 1ms}}\njob: {epochs: 5, compute: 2ms, prefetch: 0}\n")
    setup = _load("nas", file)

    assert (setup.profile.bytes_per_s, setup.profile.latency_s) == (300e6, 0.001)
    assert (setup.job.epochs, setup.job.compute_s) == (5, 0.002)
    file.write_text("job:\n  epoch: 5\n")
    with pytest.raises(UsageError, match="line 2: unknown key in job: 'epoch'"):
        _load("nfs", file)
    with pytest.raises(UsageError, match="unknown storage profile: 'floppy'"):
        _load("floppy")


def test_a_setup_without_samples_is_refused() -> None:
    """A topic without bytes has no training time, which is an error."""
    with pytest.raises(UsageError, match="nothing to train on"):
        training_time(np.zeros(3), TrainingJob(), PROFILES["nfs"])


def test_a_profile_cannot_take_the_word_for_all_profiles(tmp_path: Path) -> None:
    """A profile called ``all`` could not be chosen alone: it is refused where it stands, with what to do."""
    path = tmp_path / "training.yaml"
    path.write_text("profiles:\n  nas: {rate: 300MB/s}\n  all: {rate: 300MB/s}\n")

    with pytest.raises(UsageError) as raised:
        load_trainings(["nas"], path)

    assert raised.value.message == f"{path}, line 3: reserved name of a storage profile: 'all'"
    assert raised.value.hint == "rename it; 'all' selects every profile"
