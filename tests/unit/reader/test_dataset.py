"""The data set as a trainer sees it: options, states, decoders, torch."""

from __future__ import annotations

import ast
import asyncio
import copy
import gc
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import types
import warnings
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.errors import (
    InputFileError,
    MissingCapabilityError,
    OperationError,
    OutputError,
    UnreachableError,
    UsageError,
)
from kafkabal.reader import Sample, TopicReader, combine_states
from kafkabal.reader.block_cache import BlockCache
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.block_loader_factory import BlockLoaderFactory
from kafkabal.reader.cached_blocks import CachedBlocks
from kafkabal.reader.decoders import load_decoder
from kafkabal.reader.manifest import FileBlock, load_manifest, publish_manifest
from kafkabal.reader.metrics import ReaderMetrics, write_textfile
from kafkabal.reader.torch_dataset import topic_dataset_type
from tests.unit.reader.conftest import BROKER, MemoryTopic

CONNECTION = ConnectionSettings(bootstrap_servers=("nowhere:9092",))


@pytest.fixture
def topic() -> MemoryTopic:
    """Two partitions."""
    return MemoryTopic([300, 31])


@pytest.fixture
def read(topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a reader whose blocks come from memory."""
    manifest = topic.manifest()
    monkeypatch.setattr(BlockLoaderFactory, "loaders", lambda self: lambda: BrokerBlocks(self.manifest, topic))

    def make(**options: Any) -> TopicReader:
        given = {"topic": "t", "connection": CONNECTION, "manifest": manifest, "shuffle_seed": 1, **options}
        return TopicReader(**given)

    return make


def _places(samples: Any) -> list[tuple[int, int]]:
    return [(s.partition, s.offset) for s in samples]


def test_iterating_again_gives_the_next_epoch(read: Any) -> None:
    """Two loops over one object are two epochs, like one loop over an object with two epochs."""
    data = read()
    twice = _places(data) + _places(data)
    assert twice == _places(read(epochs=2))
    data.set_epoch(0)
    assert _places(data) == twice[:331]


@pytest.mark.parametrize("passed_on", [0, 4])
def test_a_cached_epoch_needs_no_broker(topic: MemoryTopic, tmp_path: Path, passed_on: int) -> None:
    """With all blocks in the cache, large ones too, a reader with a manifest can read while no broker is reachable."""
    topic.passed_on = passed_on
    manifest, cache = topic.manifest(), BlockCache(tmp_path, 10**6)
    blocks = CachedBlocks(manifest, cache, BrokerBlocks(manifest, topic))
    for block in range(len(manifest.blocks)):
        blocks.load(block)
    data = TopicReader("t", connection=CONNECTION, manifest=manifest, cache=tmp_path)
    assert len(set(_places(data))) == 331


def test_threads_that_load_blocks_share_a_cache(
    topic: MemoryTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch opens the folder once, since each opening takes its lock, whatever the number of threads."""
    manifest, opened = topic.manifest(), []
    data = TopicReader("t", connection=CONNECTION, manifest=manifest, cache=tmp_path)
    monkeypatch.setattr(BlockCache, "_remove_leftovers", lambda self: opened.append(self))

    open_loader = data._blocks.loaders()
    for _ in range(3):
        open_loader()

    assert len(opened) == 1


def test_threads_that_load_blocks_share_where_partitions_are(
    topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that one of them waits for a broker that hangs, not each of them in turn."""
    shared: list[Any] = []

    def fetcher(_: Any, kept: Any, memory: Any, located: Any) -> MemoryTopic:
        shared.append(located)
        return topic

    monkeypatch.setattr(BlockLoaderFactory, "_fetcher", fetcher)
    open_loader = TopicReader("t", connection=CONNECTION, manifest=topic.manifest())._blocks.loaders()
    for _ in range(3):
        open_loader().load(0)
    assert len(shared) == 3
    assert all(each is shared[0] for each in shared)


def test_a_state_file_that_cannot_be_written_is_refused_at_once(read: Any, tmp_path: Path) -> None:
    """Not by the first ``save``, when an epoch of training would be lost."""
    with pytest.raises(OutputError, match=r"state\.json: cannot write: no such folder"):
        read(state=tmp_path / "missing" / "state.json")


def test_a_state_resumes_at_the_exact_sample(read: Any, tmp_path: Path) -> None:
    """What was taken before the state was saved, and what comes after, is complete; also through a file."""
    path = tmp_path / "state.json"
    data = read(state=path, epochs=2)
    samples = iter(data)
    first = _places(next(samples) for _ in range(400))
    data.save()
    assert path.stat().st_size < 1000
    rest = _places(read(state=path, epochs=2))
    assert first + rest == _places(read(epochs=2))


def test_readers_at_the_end_of_an_epoch_are_of_that_epoch(read: Any) -> None:
    """A reader that finished its share is combined with one that has not; then the epoch is completed, no more."""
    done, late = read(rank=0, world_size=2, tail="keep"), read(rank=1, world_size=2, tail="keep")
    seen = _places(done)
    samples = iter(late)
    seen += _places(next(samples) for _ in range(50))
    states = [done.state_dict(), late.state_dict()]
    rest = read(tail="keep", state=combine_states(states))
    seen += _places(rest)
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]
    ended = read(tail="keep", state=rest.state_dict())
    assert _places(ended) == []
    assert len(_places(ended)) == 331


def test_an_iterator_begins_its_epoch_when_it_is_created(read: Any) -> None:
    """Data loaders ask for the state before the first sample: it is that of the new epoch, not the end of the last."""
    data = read()
    assert len(_places(data)) == 331
    samples = iter(data)
    state = data.state_dict()
    assert (state["epoch"], state["taken"]) == (1, 0)
    assert _places(read(state=state)) == _places(samples)


def test_an_iterator_that_is_never_used_takes_nothing(read: Any) -> None:
    """Data loaders create one, load a state and create another; the epoch that was ended is over by then."""
    data = read()
    iter(data)
    first = _places(data)
    assert len(first) == 331
    ended = read(state=data.state_dict())
    iter(ended)
    assert _places(ended) == _places(data)
    samples = iter(data)
    seen = _places(next(samples) for _ in range(40))
    left = read(state=data.state_dict())
    iter(left)
    left.set_epoch(2)
    assert seen + _places(left) == seen + _places(samples)


@pytest.mark.parametrize("decode", [None, lambda sample: sample.offset], ids=["raw", "decoded"])
def test_a_newer_iterator_takes_over(read: Any, decode: Any) -> None:
    """It gives all samples that the older one has not, which then says that it has ended: none comes twice."""
    data = read(decode=decode)
    older = iter(data)
    seen = _places(next(older) for _ in range(40))
    newer = iter(data)
    seen += _places(next(newer) for _ in range(40))
    with pytest.raises(UsageError, match="this iterator has ended"):
        next(older)
    assert seen + _places(newer) == _places(read())
    assert _places(data) == _places(read(epochs=2))[331:]


def test_a_newer_iterator_takes_over_before_the_first_sample(read: Any) -> None:
    """Of two that were just created, the newer one has the samples."""
    data = read()
    older, newer = iter(data), iter(data)
    with pytest.raises(UsageError, match="this iterator has ended"):
        next(older)
    assert _places(newer) == _places(read())


def test_a_loop_that_was_left_is_continued_by_the_next_one(read: Any) -> None:
    """As many times as it is left, wherever that is."""
    data, seen = read(), []
    while len(seen) < 331:
        for sample in data:
            seen.append(sample)
            if len(seen) % 50 == 0:
                break
    assert _places(seen) == _places(read())


def test_an_epoch_that_is_set_ends_the_running_iteration(read: Any) -> None:
    """It would otherwise give samples that no state counts, and the epoch that was set would be skipped."""
    data = read()
    samples = iter(data)
    next(samples)
    data.set_epoch(2)
    with pytest.raises(UsageError, match="moved by set_epoch"):
        next(samples)
    assert _places(data) == _places(read(epochs=3))[2 * 331 :]


class _HeldUp:
    """Fetches of a topic that wait until they are released."""

    def __init__(self, topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wanted, self.released = threading.Event(), threading.Event()
        fetch = topic.fetch

        def held_up(*given: Any, **options: Any) -> Any:
            self.wanted.set()
            self.released.wait(20)
            return fetch(*given, **options)

        monkeypatch.setattr(topic, "fetch", held_up)


def test_a_reader_is_not_shared_by_threads(read: Any, topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one waits for a sample, another is refused, and the first goes on undisturbed."""
    held_up, data, seen = _HeldUp(topic, monkeypatch), read(), []
    first = threading.Thread(target=lambda: seen.extend(data))
    first.start()
    held_up.wanted.wait(20)
    try:
        with pytest.raises(UsageError, match="in use by another thread"):
            iter(data)
    finally:
        held_up.released.set()
        first.join(20)
    assert _places(seen) == _places(read())


def test_a_cancelled_wait_for_a_sample_loses_none(
    read: Any, topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample that arrives after the wait for it was cancelled comes first in the next iteration."""
    held_up, data = _HeldUp(topic, monkeypatch), read()

    async def cancel() -> None:
        waiting = asyncio.ensure_future(anext(aiter(data)))
        await asyncio.to_thread(held_up.wanted.wait, 20)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        held_up.released.set()

    asyncio.run(cancel())  # ends when the thread has ended
    assert _places(data) == _places(read())


def test_a_trainer_that_counts_its_steps_gets_every_epoch(read: Any) -> None:
    """It stops after the last sample without asking for one more; its next loop is the next epoch, not an empty one."""
    data = read()
    epochs = [_places(islice(data, 331)) for _ in range(3)]
    assert [sample for epoch in epochs for sample in epoch] == _places(read(epochs=3))


def test_a_state_within_a_later_iteration_resumes_all_of_it(read: Any) -> None:
    """Two epochs an iteration: a state within the third is resumed by the rest of it and the fourth."""
    data = read(epochs=2)
    assert len(_places(data)) == 662
    samples = iter(data)
    seen = _places(next(samples) for _ in range(10))
    resumed = read(epochs=2, state=data.state_dict())
    assert seen + _places(resumed) == _places(read(epochs=4))[662:]


@pytest.mark.parametrize("taken", [40, 331])
def test_a_state_that_is_loaded_after_an_epoch_was_set_gives_its_rest(read: Any, taken: int) -> None:
    """Data loaders load it last, when the trainer may have set its next epoch: that one is the next iteration."""
    whole = _places(read(epochs=5))
    data = read()
    data.set_epoch(4)
    data.load_state_dict({**data.state_dict(), "epoch": 3, "taken": taken})
    assert _places(data) == whole[3 * 331 + taken : 4 * 331]
    assert _places(data) == whole[4 * 331 :]


@pytest.mark.parametrize("afresh", [False, True])
def test_workers_continue_after_a_look_at_the_first_samples(
    read: Any, monkeypatch: pytest.MonkeyPatch, *, afresh: bool
) -> None:
    """Forked or started afresh after the trainer has read a few by itself, they give all others, each once."""
    data = read(tail="keep", num_workers=3)
    samples = iter(data)
    seen = _places(next(samples) for _ in range(5))
    for worker in range(3):
        monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda worker=worker: (worker, 3))
        own = pickle.loads(pickle.dumps(data)) if afresh else copy.copy(data)
        seen += _places(own)
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


def test_an_iterator_may_be_created_before_the_workers(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a data set of the trainer's own that keeps one: each worker takes its share of it, not all of it."""
    seen = []
    for worker in range(3):
        monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda: None)
        samples = iter(read(tail="keep", num_workers=3))
        monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda worker=worker: (worker, 3))
        seen += _places(samples)
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


def test_a_process_that_has_no_position_says_so(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers of a data loader have it: saving that of their parent would begin the epoch again."""
    data = read(num_workers=2)
    with pytest.warns(UserWarning, match="save the state of a StatefulDataLoader"):
        data.state_dict()
    monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda: (0, 2))
    data.state_dict()
    monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda: None)
    iter(data)  # by a loader without workers
    data.state_dict()


def test_an_epoch_that_is_set_keeps_a_state_within_it(read: Any) -> None:
    """As in a loop over epochs that starts with the checkpoint's."""
    data = read()
    data.set_epoch(2)
    samples = iter(data)
    first = _places(next(samples) for _ in range(100))
    again = read(state=data.state_dict())
    again.set_epoch(2)
    rest = _places(again)
    again.set_epoch(2)
    assert first + rest == _places(again)


def test_workers_out_of_step_are_combined(read: Any) -> None:
    """Combined states of uneven readers are resumed by another number of them without gaps or repetitions."""
    states, seen = [], []
    for rank, count in enumerate((40, 72, 72)):
        data = read(rank=rank, world_size=3, tail="keep")
        samples = iter(data)
        seen += _places(next(samples) for _ in range(count))
        states.append(data.state_dict())
    for rank in range(2):
        seen += _places(read(rank=rank, world_size=2, tail="keep", state=combine_states(states)))
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


def test_states_of_other_data_are_refused(read: Any) -> None:
    """Of another manifest, or another seed: one line, before anything is read."""
    state = read().state_dict()
    with pytest.raises(UsageError, match="another data set"):
        read(manifest=MemoryTopic([5]).manifest(), state=state)
    with pytest.raises(UsageError, match="another order: seed 1"):
        read(shuffle_seed=2, state=state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 2, "world_size": 2}, "rank: must be 0 to 1"),
        ({"rank": "0"}, "rank: must be a whole number \\('0'\\)"),
        ({"world_size": 0}, "world_size: must be 1 or more"),
        ({"num_workers": 10**9}, "num_workers: must be 0 to"),
        ({"shuffle_seed": 2**70}, "shuffle_seed: must be -"),
        ({"shuffle_seed": "one"}, "shuffle_seed: must be a whole number"),
        ({"epochs": 10**18}, "epochs: must be 1 to"),
        ({"tail": "cut"}, "tail: unknown 'cut'"),
        ({"decode": "jpeg2000"}, "unknown decoder: jpeg2000"),
        ({"decode": 3}, "decode: neither a name nor a function: 3"),
        ({"decode": "os:nothing"}, "cannot load decoder"),
        ({"decode": ":nothing"}, "cannot load decoder"),
        ({"decode": "asyncio:sleep"}, "cannot load decoder asyncio:sleep: an async function"),
        ({"decode": ast.walk}, "decode: a generator function"),
        ({"on_metrics": asyncio.sleep}, "on_metrics: an async function"),
        ({"epochs": 0}, "epochs"),
        ({"world_size": 2, "manifest": None}, "needs a manifest"),
        ({"manifest": {"topic": "t"}}, "manifest: neither a manifest nor a file: {'topic': 't'}"),
        ({"prefetch": "many"}, "prefetch: invalid size: 'many'"),
        ({"prefetch": None}, "prefetch: must be a whole number"),
        ({"prefetch": -1}, "prefetch: must be 0 or more"),
        ({"num_workers": -1}, "num_workers: must be 0 or more"),
        ({"group": ""}, "group: must not be empty"),
        ({"cache": ""}, "cache: must not be empty"),
        ({"cache": 5}, r"cache: must be a path \(5\)"),
        ({"cache": "a\0b"}, "cache: a path cannot contain a NUL byte"),
        ({"metrics_file": b"x"}, r"metrics_file: must be a path \(b'x'\)"),
        ({"rack": 7}, r"rack: must be text \(7\)"),
        ({"rack": "r\0"}, r"rack: must be up to 32,767 bytes of printable text \('r\\x00'\)"),
        ({"group": " "}, r"group: must be up to 32,767 bytes of printable text \(' '\)"),
        ({"group": "\udc80"}, r"group: must be up to 32,767 bytes of printable text \('\\udc80'\)"),
        ({"group": "ü" * 16_384}, r"group: must be up to 32,767 bytes of printable text \('üüü"),
        ({"group": ["g"]}, r"group: must be text \(\['g'\]\)"),
        ({"join": "False"}, r"join: must be True or False \('False'\)"),
        ({"count": 1}, r"count: must be True or False \(1\)"),
        ({"connection": "broker1:9092"}, r"connection: must be a ConnectionSettings \('broker1:9092'\)"),
        ({"manifest": ""}, "manifest: must not be empty"),
        ({"state": ""}, "state: must not be empty"),
        ({"metrics_file": ""}, "metrics_file: must not be empty"),
        ({"topic": ""}, "topic: must not be empty"),
        ({"topic": None}, r"topic: must be a name \(None\)"),
        ({"state": {"identity": "x"}}, "not a state of a reader: no kafkabal_reader"),
        ({"state": [{"identity": "x"}]}, "not a state of a reader: list"),
        ({"balance": "dynamic"}, "needs a manifest file"),
        ({"balance": "fair"}, "balance: unknown 'fair'"),
    ],
)
def test_wrong_options_are_named(read: Any, options: dict[str, Any], message: str) -> None:
    """A wrong option or state is refused with a message that names it."""
    with pytest.raises(UsageError, match=message):
        read(**options)


def test_a_wrong_option_does_not_wait_for_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named before the topic is pinned, which may mean reading all of it."""
    monkeypatch.setattr("kafkabal.reader.dataset.manifest_of", lambda *_, **__: pytest.fail("the topic was pinned"))
    for options in ({"tail": "cut"}, {"prefetch": "many"}, {"decode": "jpeg2000"}, {"epochs": 0}):
        with pytest.raises(UsageError):
            TopicReader("t", connection=CONNECTION, **options)  # type: ignore[arg-type]


def test_a_manifest_that_cannot_be_written_is_named_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the topic is pinned, which may mean reading all of it."""
    monkeypatch.setattr("kafkabal.reader.choose_manifest.pin", lambda *_, **__: pytest.fail("the topic was pinned"))
    with pytest.raises(OutputError, match=r"missing/manifest: cannot write: no such folder"):
        TopicReader("t", connection=CONNECTION, manifest=tmp_path / "missing" / "manifest")


def test_options_that_a_manifest_contradicts_are_refused(read: Any, topic: MemoryTopic, tmp_path: Path) -> None:
    """An existing manifest decides how the topic is read: options that ask for something else must not be ignored."""
    path = tmp_path / "manifest"
    publish_manifest(topic.manifest(), path)
    with pytest.raises(UsageError, match="without counting its records, so count=True has no effect") as caught:
        read(manifest=path, count=True)
    assert caught.value.hint == f"remove {path} and its states to pin the topic again"
    file = FileBlock(first=(0, 0, 0), samples=1, size_bytes=10, ranges=((0, 0, 2),))
    of_files = msgspec.structs.replace(topic.manifest(), files=(file,))
    with pytest.raises(UsageError, match="as whole files, so join=False has no effect"):
        read(manifest=of_files, join=False)
    read(manifest=of_files, count=True)


def test_wrong_numbers_are_named_later_too(read: Any) -> None:
    """An epoch that no state could hold, and batches of nothing, which would look like an empty topic."""
    data = read()
    for epoch in (-1, 1.5, 10**20):
        with pytest.raises(UsageError, match="epoch: must be"):
            data.set_epoch(epoch)
    for size in (0, -1, "32"):
        with pytest.raises(UsageError, match="batch_size: must be"):
            data.batches(size)


def test_numbers_of_numpy_are_whole_numbers(read: Any) -> None:
    """A seed that numpy drew gives the order of the same int, and a state that JSON can hold."""
    data = read(shuffle_seed=np.int64(1), epochs=np.int32(2), prefetch=1e6)
    data.set_epoch(np.int64(1))
    assert _places(data) == _places(read(epochs=3))[331:]
    json.dumps(data.state_dict())


@pytest.mark.parametrize("seed", [2**63 - 1, 1 - 2**63])
def test_every_accepted_seed_can_be_resumed_from_a_file(read: Any, tmp_path: Path, seed: int) -> None:
    """Files hold integers of 63 bits: a larger seed would end in a state that cannot be read."""
    data = read(shuffle_seed=seed, state=tmp_path / "state.json")
    seen = _places(islice(data, 40))
    data.save()
    assert len({*seen, *_places(read(shuffle_seed=seed, state=tmp_path / "state.json"))}) == 331


def test_an_unfit_state_file_is_named(read: Any, tmp_path: Path) -> None:
    """Whether it holds something else, or the state of other data."""
    path = tmp_path / "state.json"
    for document in ({}, read(shuffle_seed=2).state_dict()):
        path.write_text(json.dumps(document))
        with pytest.raises(InputFileError, match=r"state\.json: "):
            read(state=path)


def _refuse_offset_7(sample: Any) -> int:
    if sample.offset == 7:
        raise ValueError("not a picture")
    return len(sample.value)


def test_a_missing_decoder_package_is_no_fault_of_the_records(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the reading even where bad records are skipped: all of them would be."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingCapabilityError, match="needs Pillow"):
        list(read(decode="image", on_error="skip"))


def test_records_that_cannot_be_decoded(read: Any) -> None:
    """They are raised with topic, partition and offset, or skipped, or counted, as configured."""
    with pytest.raises(OperationError, match=r"t-\d: offset 7 cannot be decoded: not a picture"):
        list(read(decode=_refuse_offset_7))
    skipping, counting = read(decode=_refuse_offset_7, on_error="skip"), read(decode=_refuse_offset_7, on_error="count")
    assert len(list(skipping)) == 329
    assert sorted({s.decoded for s in counting}, key=str) == [10, None]
    assert (skipping.metrics.corrupt, counting.metrics.corrupt) == (2, 2)


def test_blocks_that_take_much_memory(read: Any, topic: MemoryTopic) -> None:
    """Whether they are in memory or in a temporary file, an epoch has the same samples in the same order."""

    def content(data: Any) -> list[tuple[int, int, int, bytes]]:
        return [(s.partition, s.offset, s.timestamp, s.value) for s in data]

    whole = content(read())
    topic.passed_on = 4
    assert content(read()) == whole


@pytest.mark.parametrize("passed_on", [0, 4])
@pytest.mark.parametrize("cached", [False, True])
def test_records_of_a_damaged_batch(
    read: Any, topic: MemoryTopic, tmp_path: Path, cached: bool, passed_on: int
) -> None:
    """Without a decoder, too, they are raised, skipped or counted, also in epochs that a cache could give."""
    topic.passed_on = passed_on
    topic.damaged = {(0, 7), (0, 8), (1, 30)}
    options = {"cache": tmp_path / "cache", "epochs": 2} if cached else {}
    with pytest.raises(OperationError, match=r"t-\d: offset \d+ cannot be decoded: the batch is damaged"):
        list(read(**options))
    skipping, counting = read(on_error="skip", **options), read(on_error="count", **options)
    epochs = 2 if cached else 1
    assert topic.damaged.isdisjoint(taken := _places(skipping))
    assert (len(taken), len(list(counting))) == (328 * epochs, 331 * epochs)
    assert (skipping.metrics.corrupt, counting.metrics.corrupt) == (3 * epochs, 3 * epochs)


@pytest.mark.parametrize(
    ("error", "why"),
    [(KeyError("label"), "KeyError: 'label'"), (AssertionError(), "AssertionError"), (ValueError(), "V")],
)
def test_the_error_of_a_decoder_says_what_it_is(read: Any, error: Exception, why: str) -> None:
    """The text of some errors is only a name, or empty."""

    def refuse(_: Any) -> None:
        raise error

    with pytest.raises(OperationError, match=f"cannot be decoded: {why}"):
        list(read(decode=refuse))


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, MissingCapabilityError("needs Pillow")], ids=str)
@pytest.mark.parametrize("size", [None, 30])
def test_a_sample_whose_decoding_is_interrupted_is_not_lost(read: Any, interrupt: Any, size: int | None) -> None:
    """The trainer has not had it, nor the batch: the state does not count them, and the next loop begins with them."""
    decoded: list[Any] = []

    def decode(sample: Any) -> None:
        decoded.append(sample)
        if len(decoded) == 41:
            raise interrupt

    data = read(decode=decode)
    with pytest.raises((KeyboardInterrupt, MissingCapabilityError)):
        list(data if size is None else data.batches(size))
    had = 40 if size is None else 30
    assert data.state_dict()["taken"] == had
    assert _places(decoded[:had]) + _places(data) == _places(read())


def test_what_a_decoder_returns_may_contain_its_sample(read: Any) -> None:
    """Such a sample is freed when it is dropped, without the garbage collector."""
    garbage_collection_on = gc.isenabled()
    gc.disable()
    try:
        before = sum(isinstance(each, Sample) for each in gc.get_objects())
        values = [sample.decoded[0].value == sample.value for sample in read(decode=lambda sample: [sample])]
        after = sum(isinstance(each, Sample) for each in gc.get_objects())
    finally:
        if garbage_collection_on:
            gc.enable()
    assert all(values)
    assert after - before < 5 < len(values)


@pytest.mark.parametrize(
    ("decode", "message"),
    [("image", "not an image that Pillow can read"), ("json", "codec can't decode|Expecting value"), ("text", None)],
)
def test_decoder_errors_are_in_terms_of_the_format(decode: str, message: str | None) -> None:
    """In terms of the format, not of an object in memory or of another encoding."""
    sample = Sample(0, 7, 0, None, b"\xff\x00bad" if message else b"text", b"\0")
    decoder = load_decoder(decode)
    assert decoder is not None
    if message is None:
        assert decoder(sample) == "text"
        return
    with pytest.raises(ValueError, match=message) as caught:
        decoder(sample)
    assert "object at" not in str(caught.value)
    assert "utf-16" not in str(caught.value)


def test_pictures_can_be_written_to() -> None:
    """Otherwise torch warns of every training that makes tensors of them."""
    file = io.BytesIO()
    Image.new("L", (3, 2)).save(file, "PNG")
    decoder = load_decoder("image")
    assert decoder is not None
    pixels = decoder(Sample(0, 7, 0, None, file.getvalue(), b"\0"))
    assert pixels.shape == (2, 3, 3)
    assert pixels.flags.writeable


def test_metrics_are_shown(read: Any, tmp_path: Path) -> None:
    """At the end a callback and a textfile have the amounts read, by broker, and no more waiting than time passed."""
    got: list[ReaderMetrics] = []
    data = read(on_metrics=got.append, metrics_file=tmp_path / "kafkabal.prom")
    count = len(list(data))
    assert got[-1].samples == count == 331
    assert got[-1].waited_s <= got[-1].elapsed_s
    text = (tmp_path / "kafkabal.prom").read_text()
    assert 'kafkabal_reader_samples_total{topic="t",reader="0"} 331' in text
    fetched = got[-1].network_bytes[BROKER]
    assert fetched >= 3310
    assert f'kafkabal_reader_network_bytes_total{{topic="t",reader="0",broker="{BROKER}",rack=""}} {fetched}' in text


def test_readers_do_not_replace_the_metrics_of_each_other(read: Any, tmp_path: Path) -> None:
    """One file is given to all of them; each writes its own beside it."""
    for rank in range(2):
        list(read(rank=rank, world_size=2, metrics_file=tmp_path / "kafkabal.prom"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kafkabal-0.prom", "kafkabal-1.prom"]


def test_metrics_end_no_training(read: Any, tmp_path: Path) -> None:
    """A function of the trainer that fails, or a file that cannot be written, is a warning."""

    def fail(metrics: ReaderMetrics) -> None:
        raise ZeroDivisionError("no samples yet")

    with pytest.warns(UserWarning, match="on_metrics: ZeroDivisionError: no samples yet"):
        assert len(list(read(on_metrics=fail))) == 331
    with pytest.warns(UserWarning, match=r"^metrics_file: /.*: cannot write"):
        assert len(list(read(metrics_file=tmp_path / "missing" / "a.prom"))) == 331


def test_a_rack_without_brokers_is_warned_of(read: Any) -> None:
    """A mistyped rack would silently cost the traffic between racks that it is meant to avoid."""
    data = read(rack="r7")
    data.metrics.racks = {1: "r0", 2: "r1"}
    with pytest.warns(
        UserWarning, match=r"no broker in rack r7: reading from leaders \(racks of this cluster: r0, r1\)"
    ):
        assert len(list(data)) == 331
    data.metrics.racks = {1: "r0", 2: "r7"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(data)


def test_any_rack_can_be_a_label(tmp_path: Path) -> None:
    """A quote or a backslash in its name leaves the textfile readable."""
    rack = 'a"b\\c\nd'
    metrics = ReaderMetrics(network_bytes={1: 5}, racks={1: rack})
    write_textfile(metrics, tmp_path / "a.prom", {"topic": "t"})
    families = text_string_to_metric_families((tmp_path / "a.prom").read_text())
    samples = [sample for family in families for sample in family.samples if "network" in sample.name]
    assert [sample.labels for sample in samples] == [{"topic": "t", "broker": "1", "rack": rack}]


def test_batches_and_async_give_the_same(read: Any) -> None:
    """Batches, and an event loop, see the samples of a plain loop."""

    async def collect() -> list[Any]:
        return [sample async for sample in read()]

    plain = _places(read())
    assert _places(sample for batch in read().batches(32) for sample in batch) == plain
    assert _places(asyncio.run(collect())) == plain


def test_an_interrupted_batch_is_given_again(read: Any, topic: MemoryTopic) -> None:
    """An error in the middle of it loses none of its samples, neither for the state nor for the next loop."""
    data, seen = read(prefetch=0), list[Any]()

    def read_until_it_fails() -> None:
        for batch in data.batches(50):
            seen.extend(batch)
            topic.fault = UnreachableError("no broker")

    with pytest.raises(UnreachableError):
        read_until_it_fails()
    topic.fault = None
    assert data.state_dict()["taken"] == len(seen) < 331
    seen += [sample for batch in data.batches(50) for sample in batch]
    assert _places(seen) == _places(read())


@pytest.mark.parametrize("decode", [None, "numpy"])
def test_an_async_loop_that_ends_early_loses_nothing(read: Any, decode: str | None) -> None:
    """The state counts the samples that the loop got, none that a thread has taken ahead of it."""

    async def begin(data: TopicReader, count: int) -> list[Any]:
        got = []
        async for sample in data:
            got.append(sample)
            if len(got) == count:
                break
        return got

    data = read(decode=decode, on_error="count")
    seen = _places(asyncio.run(begin(data, 40)))
    assert data.state_dict()["taken"] == 40
    assert seen + _places(read(state=data.state_dict())) == _places(read())


@pytest.mark.parametrize("tail", ["drop", "repeat", "keep"])
def test_the_length_is_what_all_workers_give(read: Any, monkeypatch: pytest.MonkeyPatch, tail: str) -> None:
    """Each worker of a data loader drops or repeats samples of its own."""
    own = {"rank": 1, "world_size": 2, "num_workers": 3, "tail": tail}
    given = 0
    for worker in range(3):
        monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda worker=worker: (worker, 3))
        given += len(_places(read(**own)))
    assert len(read(**own)) == given


def test_torch_sees_an_iterable_data_set_and_its_workers(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With torch in place the class is one of its own kind, and each worker of a loader is a reader."""
    torch, utils, data = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.data"))
    worker: Any = None

    class IterableDataset:
        """Stands in for torch's."""

    data.IterableDataset = IterableDataset  # type: ignore[attr-defined]
    data.get_worker_info = lambda: worker  # type: ignore[attr-defined]
    torch.__spec__ = types.SimpleNamespace()  # type: ignore[assignment]
    for name, module in (("torch", torch), ("torch.utils", utils), ("torch.utils.data", data)):
        monkeypatch.setitem(sys.modules, name, module)
    topic_dataset_type.cache_clear()
    try:
        assert issubclass(topic_dataset_type(), IterableDataset)
        assert issubclass(topic_dataset_type(), TopicReader)
    finally:
        topic_dataset_type.cache_clear()
    seen = []
    for number in range(3):
        worker = types.SimpleNamespace(id=number, num_workers=3)
        seen += _places(read(tail="keep", num_workers=3))
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


def test_ranks_that_would_all_read_everything_are_warned_of(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """torchrun says how many ranks it has started; a reader for all of them, or in a job of one, warns of nothing."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.warns(UserWarning, match="WORLD_SIZE is 2.*every rank reads all samples"):
        read()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(world_size=2)
        for alone in ("1", "", "two"):
            monkeypatch.setenv("WORLD_SIZE", alone)
            read()


def test_ranks_of_a_run_are_told_by_torchrun(read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run id goes into their ledger, unless it has none, has started other ranks, or one was given."""
    shared = tmp_path / "manifest"
    publish_manifest(MemoryTopic([300]).manifest(), shared)

    def run_id(torchrun: str = "job", started: str = "2", **options: Any) -> str:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", torchrun)
        monkeypatch.setenv("WORLD_SIZE", started)
        data = read(manifest=shared, world_size=2, balance="dynamic", **options)
        next(iter(data))
        (ledger,) = Path(f"{shared}.readers").glob("*.json")
        found: str = json.loads(ledger.read_text())["run_id"]
        data.set_epoch(0)
        return found

    assert [run_id(), run_id(run_id="mine"), run_id("none"), run_id(started="4")] == ["job", "mine", "", ""]
    with pytest.raises(UsageError, match="run_id: must be text"):
        read(run_id=7)


def test_readers_without_samples_are_warned_of(read: Any) -> None:
    """More readers than samples: without their rest, an epoch is empty for all of them; other tails give them out."""
    with pytest.warns(UserWarning, match="331 samples for 400 readers, and tail='drop': no reader gets any"):
        read(world_size=100, num_workers=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(world_size=100, num_workers=4, tail="repeat")
        read(world_size=100)


def test_lanes_that_readers_do_not_divide_are_warned_of(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five readers of six lanes fetch every block five times; the warning says which option or file to change."""
    with pytest.warns(UserWarning, match=r"every block is fetched 5 times; .* for them \(with a new manifest\)"):
        next(iter(read(rank=0, world_size=5)))
    monkeypatch.setattr("kafkabal.reader.dataset._data_loader_worker", lambda: (0, 5))
    with pytest.warns(UserWarning, match=r"every block is fetched 5 times; .* for them \(num_workers=5\)"):
        next(iter(read()))


class _GroupClient:
    """Stands in for what commits progress, and refuses to once it is closed, as librdkafka does."""

    def __init__(self) -> None:
        self.committed: list[float] = []
        self._is_closed = False

    def commit(self, fraction: float) -> None:
        assert not self._is_closed
        self.committed.append(fraction)

    def close(self) -> None:
        self._is_closed = True


def _dynamic(read: Any, tmp_path: Path, topic: MemoryTopic, **options: Any) -> TopicReader:
    publish_manifest(topic.manifest(), tmp_path / "manifest")
    reader: TopicReader = read(manifest=tmp_path / "manifest", balance="dynamic", tail="keep", **options)
    return reader


def test_readers_take_work_from_one_that_is_late(read: Any, topic: MemoryTopic, tmp_path: Path) -> None:
    """A reader abandoned after ten samples loses those it has not reserved, and continues later; each sample once."""
    slow, fast = (_dynamic(read, tmp_path, topic, rank=rank, world_size=2) for rank in range(2))
    samples: Any = iter(slow)
    seen = _places(next(samples) for _ in range(10))
    samples.close()
    seen += _places(fast)
    assert len(seen) > 300
    seen += _places(slow)
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]
    assert len(_places(slow)) == 166  # the next epoch, but nothing of the one that is not there


def test_a_newer_iterator_takes_over_from_one_that_shares_work(read: Any, topic: MemoryTopic, tmp_path: Path) -> None:
    """It continues with what the older one has reserved, each sample once."""
    data = _dynamic(read, tmp_path, topic)
    older = iter(data)
    seen = _places(next(older) for _ in range(10))
    newer = iter(data)
    seen += _places(next(newer) for _ in range(10))
    with pytest.raises(UsageError, match="this iterator has ended"):
        next(older)
    seen += _places(newer)
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


def test_a_loop_of_shared_work_that_is_continued_reports_as_the_first(
    read: Any, topic: MemoryTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its progress goes to a client of its own: that of the loop that was left is closed, and ended the training."""
    clients: list[_GroupClient] = []

    def client(*_: Any) -> _GroupClient:
        clients.append(_GroupClient())
        return clients[-1]

    monkeypatch.setattr("kafkabal.reader.group_progress.GroupProgress", client)
    monkeypatch.setattr("kafkabal.reader.metrics._INTERVAL_S", 0.0)
    data = _dynamic(read, tmp_path, topic, group="g")
    seen = _places(islice(data, 100))
    seen += _places(data)
    assert len(set(seen)) == len(seen) == 331
    left, continued = clients
    assert left.committed
    assert len(continued.committed) > 1
    assert continued.committed[-1] == 1.0


def test_a_reader_of_shared_work_ends_with_its_last_reference(
    read: Any, topic: MemoryTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training that failed and is started again in the same process is not refused as a second one."""

    def train() -> None:
        for _ in _dynamic(read, tmp_path, topic):
            raise ZeroDivisionError

    monkeypatch.setattr("kafkabal.reader.shared_work_ledger._PREDECESSOR_S", 0.0)
    gc.disable()
    try:
        with suppress(ZeroDivisionError):
            train()
        assert len(_places(_dynamic(read, tmp_path, topic))) == 331
    finally:
        gc.enable()


@pytest.mark.parametrize("fails_in_decoder", [False, True])
def test_an_interrupted_batch_of_shared_work_is_given_again(
    read: Any, topic: MemoryTopic, tmp_path: Path, *, fails_in_decoder: bool
) -> None:
    """It spans work taken from another reader; the state does not count it, and the next loop begins with it."""
    decoded: list[Any] = []

    def decode(sample: Any) -> None:
        decoded.append(sample)
        if fails_in_decoder and len(decoded) == 180:
            raise KeyboardInterrupt

    late, data = (
        _dynamic(read, tmp_path, topic, rank=rank, world_size=2, prefetch=0, decode=decode) for rank in range(2)
    )
    begun = iter(late)
    seen = _places([next(begun)])
    begun.close()

    def read_until_it_fails() -> None:
        for batch in data.batches(20):
            seen.extend(_places(batch))
            if len(seen) == 161 and not fails_in_decoder:
                topic.fault = UnreachableError("no broker")

    with pytest.raises((UnreachableError, KeyboardInterrupt)):
        read_until_it_fails()
    topic.fault = None
    had = sum(after - first for shard in data.state_dict()["ranges"] for first, after in shard)
    assert 1 + had == len(seen) >= 161
    seen += _places(data)
    seen += _places(late)
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


@pytest.mark.parametrize("after_s", [0.1, *(0.0001 * n for n in range(50))])
def test_a_sample_that_no_longer_is_waited_for_is_given_again(
    read: Any, topic: MemoryTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after_s: float
) -> None:
    """A cancelled asyncio loop whose thread takes one more sample, or has just begun, loses none of the shared
    work."""
    data = _dynamic(read, tmp_path, topic)
    may_load = threading.Event()
    fetch = topic.fetch

    def late(*args: Any, **options: Any) -> Any:
        assert may_load.wait(30)
        return fetch(*args, **options)

    monkeypatch.setattr(topic, "fetch", late)

    async def cancelled() -> None:
        samples = aiter(data)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(samples), after_s)
        may_load.set()

    asyncio.run(cancelled())  # waits for its threads
    assert len(_places(data)) == 331


def test_a_later_run_may_have_another_number_of_readers(read: Any, topic: MemoryTopic, tmp_path: Path) -> None:
    """The ledger of an earlier one, which is still there, has as many shares as that had readers."""
    for readers in (1, 2, 3, 2):
        seen = []
        for rank in range(readers):
            seen += _places(_dynamic(read, tmp_path, topic, rank=rank, world_size=readers))
        assert len(seen) == len(set(seen)) > 320


def test_states_of_readers_that_share_work_are_combined(read: Any, topic: MemoryTopic, tmp_path: Path) -> None:
    """Stopped anywhere, resumed by one static reader; the state of a single reader is refused."""
    readers = [_dynamic(read, tmp_path, topic, rank=rank, world_size=2) for rank in range(2)]
    samples = [iter(each) for each in readers]
    seen = _places(next(samples[0]) for _ in range(5)) + _places(next(samples[1]) for _ in range(200))
    states = [each.state_dict() for each in readers]
    with pytest.raises(UsageError, match="differs from the others"):
        list(read(tail="keep", state=states[0]))
    seen += _places(read(tail="keep", state=combine_states(states)))
    assert sorted(seen) == [(p, o) for p, n in ((0, 300), (1, 31)) for o in range(n)]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("taken", 10**15),
        ("position", 10**15),
        ("position", 1.5),
        ("epoch", -1),
        ("readers", 10**15),
        ("rounds", [[[10**15, 1]]]),
        ("rounds", [[[1, 10**15]]]),
        ("rounds", [[[1, [[0, 10**15]]]]]),
        ("rounds", [[[50_000, 10], [50_000, 300]]]),
        ("rounds", [[[50_000, 1], [50_000, 2]]] * 20_000),
        ("rounds", [[1]]),
        ("rounds", "x"),
        ("ranges", [[[0, 10**15]]]),
        ("ranges", [[[5, 1]]]),
        ("ranges", []),
        ("ranges", 7),
        ("seed", "x"),
        ("taken", 1.5),
        ("reader", "0"),
    ],
)
def test_a_damaged_state_is_named(read: Any, key: str, value: Any) -> None:
    """Whatever a state contains, the error is one line, without exhausting memory or pretending to be at the end."""
    with pytest.raises(UsageError, match="not a state of"):
        read(state={**read().state_dict(), key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("blocks", 10**12),
        ("blocks", 0),
        ("begin", 400),
        ("begin", -5),
        ("end", 10**15),
        ("size_bytes", -1),
        ("partition", -1),
        ("partition", 1),
        ("counted", [[5, -3, 1]]),
        ("counted", [[5, 3, 1], [2, 3, 1]]),
    ],
)
def test_a_damaged_manifest_is_named(topic: MemoryTopic, tmp_path: Path, key: str, value: Any) -> None:
    """Offsets, blocks and counts that no reader writes are refused before anything is read."""
    document = json.loads(msgspec.json.encode(topic.manifest()))
    document["partitions"][0][key] = value
    (tmp_path / "manifest").write_text(json.dumps(document))
    with pytest.raises(InputFileError, match="not a manifest of a reader"):
        load_manifest(tmp_path / "manifest")


def test_more_blocks_than_fit_into_memory_are_refused(topic: MemoryTopic, tmp_path: Path) -> None:
    """Each partition has as many as it may, but hundreds of them would take 30 GB."""
    document = json.loads(msgspec.json.encode(topic.manifest()))
    many = [{"partition": p, "begin": 0, "end": 10**7, "size_bytes": 1, "blocks": 10**7} for p in range(100)]
    (tmp_path / "manifest").write_text(json.dumps({**document, "partitions": many}))
    with pytest.raises(InputFileError, match="not a manifest of a reader: 1,000,000,000 blocks in all"):
        load_manifest(tmp_path / "manifest")


def test_more_lanes_than_readers_can_have_are_refused(topic: MemoryTopic, tmp_path: Path) -> None:
    """The order of an epoch of ten million lanes would take minutes."""
    (tmp_path / "manifest").write_bytes(msgspec.json.encode(msgspec.structs.replace(topic.manifest(), lanes=10**7)))
    with pytest.raises(InputFileError, match="not a manifest of a reader: lanes"):
        load_manifest(tmp_path / "manifest")


def test_the_documented_import_is_a_torch_dataset(tmp_path: Path) -> None:
    """Where a module by the name of torch is installed: data loaders index whatever is none of its own."""
    (tmp_path / "torch" / "utils").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "utils" / "__init__.py").touch()
    (tmp_path / "torch" / "utils" / "data.py").write_text("class IterableDataset: ...\n")
    program = (
        "from torch.utils.data import IterableDataset\n"
        "from kafkabal.reader import TopicDataset\n"
        "assert issubclass(TopicDataset, IterableDataset), TopicDataset.__mro__\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""


@pytest.mark.parametrize("decode", [None, "image", "numpy", "text", "json"])
def test_the_documented_import_can_be_sent_to_workers(topic: MemoryTopic, decode: str | None) -> None:
    """The data set can be imported by its name, and be pickled, as data loaders do that start workers afresh."""
    from kafkabal.reader import TopicDataset

    assert issubclass(TopicDataset, TopicReader)
    data = TopicDataset("t", connection=CONNECTION, manifest=topic.manifest(), decode=decode)
    again = pickle.loads(pickle.dumps(data))
    assert again.manifest == data.manifest
    assert again.state_dict() == data.state_dict()
