"""The data set in torch's own data loaders; runs where torch is installed (docs/reader.md)."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kafkabal.reader import TopicDataset, combine_states
from kafkabal.reader.block_cache import BlockCache
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.block_loader_factory import BlockLoaderFactory
from kafkabal.reader.cached_blocks import CachedBlocks
from tests.unit.reader.conftest import MemoryTopic
from tests.unit.reader.test_dataset import CONNECTION

torch_data: Any = pytest.importorskip("torch.utils.data")

COUNTS = [300, 31, 180]
EVERYTHING = [(p, o) for p, n in enumerate(COUNTS) for o in range(n)]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def make_data(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Data sets on a topic in memory, which workers inherit as they are forked."""
    topic = MemoryTopic(COUNTS)
    monkeypatch.setattr(BlockLoaderFactory, "loaders", lambda self: lambda: BrokerBlocks(self.manifest, topic))
    manifest = topic.manifest()

    def make(**options: Any) -> Any:
        given = {"connection": CONNECTION, "manifest": manifest, "shuffle_seed": 1, "tail": "keep", **options}
        return TopicDataset("t", **given)

    return make


def _places(batch: Any) -> list[tuple[int, int]]:
    return [(sample.partition, sample.offset) for sample in batch]


def _same(samples: list[Any]) -> list[Any]:
    return samples


def _loaded(loader: Any) -> list[tuple[int, int]]:
    return [place for batch in loader for place in _places(batch)]


@pytest.mark.parametrize("workers", [0, 2, 3])
def test_workers_share_an_epoch(make_data: Callable[..., Any], workers: int) -> None:
    """Every sample comes once, whatever the number of workers; each is a reader of its own."""
    loader = torch_data.DataLoader(make_data(num_workers=workers), batch_size=16, num_workers=workers, collate_fn=_same)
    assert sorted(_loaded(loader)) == EVERYTHING


@pytest.mark.parametrize("workers", [0, 2])
def test_without_a_collate_function_a_batch_is_a_list_of_samples(make_data: Callable[..., Any], workers: int) -> None:
    """As torch takes any data set, so that a first try needs nothing else; torch itself refused samples."""
    loader = torch_data.DataLoader(make_data(num_workers=workers), batch_size=16, num_workers=workers)
    assert {type(batch) for batch in loader} == {list}
    assert sorted(_loaded(loader)) == EVERYTHING


def test_epochs_follow_each_other(make_data: Callable[..., Any]) -> None:
    """With set_epoch before each, and by themselves where workers persist, in another order each time."""
    data = make_data(num_workers=2)
    loader = torch_data.DataLoader(data, batch_size=16, num_workers=2, collate_fn=_same)
    lasting = torch_data.DataLoader(
        make_data(num_workers=2), batch_size=16, num_workers=2, collate_fn=_same, persistent_workers=True
    )
    orders = []
    for epoch in range(2):
        data.set_epoch(epoch)
        orders.append(_loaded(loader))
        assert _loaded(lasting) == orders[-1]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == EVERYTHING


def test_ranks_and_workers_are_disjoint(make_data: Callable[..., Any]) -> None:
    """Two ranks of two workers each: four readers, each sample once."""
    seen: list[tuple[int, int]] = []
    for rank in range(2):
        data = make_data(rank=rank, world_size=2, num_workers=2)
        seen += _loaded(torch_data.DataLoader(data, batch_size=16, num_workers=2, collate_fn=_same))
    assert sorted(seen) == EVERYTHING


@pytest.mark.parametrize("tail", ["drop", "repeat"])
def test_ranks_get_equally_many_batches(make_data: Callable[..., Any], tail: str) -> None:
    """Otherwise an all-reduce of the last one would wait forever."""
    counts = set()
    for rank in range(3):
        data = make_data(rank=rank, world_size=3, num_workers=2, tail=tail)
        counts.add(sum(1 for _ in torch_data.DataLoader(data, batch_size=16, num_workers=2, collate_fn=_same)))
    assert len(counts) == 1


def test_workers_started_afresh_continue_after_a_look(make_data: Callable[..., Any], tmp_path: Path) -> None:
    """They get a copy of the data set, and read from the cache: the topic in memory is not theirs."""
    data = make_data(num_workers=2, cache=tmp_path)
    blocks = CachedBlocks(data.manifest, BlockCache(tmp_path, 10**6), data._blocks.loaders()())
    for block in range(len(data.manifest.blocks)):
        blocks.load(block)
    seen = _places([next(iter(data))])
    loader = torch_data.DataLoader(
        data, batch_size=16, num_workers=2, collate_fn=_same, multiprocessing_context="spawn"
    )
    assert sorted(seen + _loaded(loader)) == EVERYTHING


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("seed", range(3))
def test_a_trainer_that_is_stopped_anywhere_gets_every_sample_once_an_epoch(
    make_data: Callable[..., Any], workers: int, seed: int, *, persistent: bool
) -> None:
    """Stopped after a few batches or at the end of an epoch, and resumed by a new stateful data loader, many times."""
    stateful: Any = pytest.importorskip("torchdata.stateful_dataloader")
    randomness = random.Random(seed)
    seen: list[list[tuple[int, int]]] = [[], [], []]
    epoch, state = 0, None
    while epoch < len(seen):
        data = make_data(num_workers=workers)
        data.set_epoch(epoch)
        loader = stateful.StatefulDataLoader(
            data, batch_size=16, num_workers=workers, collate_fn=_same, persistent_workers=persistent
        )
        if state is not None:
            loader.load_state_dict(pickle.loads(pickle.dumps(state)))
        left = randomness.choice([1, 2, 15, 40])
        while left and epoch < len(seen):
            if not persistent:
                data.set_epoch(epoch)
            for batch in loader:
                seen[epoch] += _places(batch)
                state = loader.state_dict()
                left -= 1
                if not left:
                    break
            else:
                epoch += 1
                if randomness.random() < 0.5:
                    state = loader.state_dict()
                    break
    assert [sorted(each) for each in seen] == [EVERYTHING] * 3


def test_another_number_of_ranks_and_workers_resumes(make_data: Callable[..., Any]) -> None:
    """From the combined states of the data loaders of all ranks."""
    stateful: Any = pytest.importorskip("torchdata.stateful_dataloader")
    seen: list[tuple[int, int]] = []
    state = None
    for ranks, workers, steps in ((1, 2, 5), (2, 0, 3), (3, 2, 2), (2, 1, 1000)):
        loaders = [
            stateful.StatefulDataLoader(
                make_data(rank=rank, world_size=ranks, num_workers=workers, state=state),
                batch_size=16,
                num_workers=workers,
                collate_fn=_same,
            )
            for rank in range(ranks)
        ]
        for loader in loaders:
            seen += _loaded(islice(loader, steps))
        state = combine_states([loader.state_dict() for loader in loaders])
    assert sorted(seen) == EVERYTHING


_KILLED_TRAINER = """
import os, sys
from torch.utils.data import DataLoader
from kafkabal.reader import TopicDataset
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.block_loader_factory import BlockLoaderFactory
from tests.unit.reader.conftest import MemoryTopic
from tests.unit.reader.test_dataset import CONNECTION
topic = MemoryTopic([900], record_bytes=100_000)
BlockLoaderFactory.loaders = lambda self: lambda: BrokerBlocks(self.manifest, topic)
data = TopicDataset("t", connection=CONNECTION, manifest=topic.manifest(), num_workers=2)
batches = iter(DataLoader(data, batch_size=16, num_workers=2))
for _ in range(4):
    next(batches)
print("read", flush=True)
sys.stdin.read()
"""


def test_workers_end_with_a_trainer_that_is_killed() -> None:
    """After SIGKILL of the trainer its workers exit: its output, which they have open too, is closed."""
    trainer = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _KILLED_TRAINER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert trainer.stdout is not None
    assert trainer.stdout.readline() == b"read\n"
    trainer.kill()
    assert trainer.communicate(timeout=60)[0] == b""
