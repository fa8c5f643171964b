"""States of readers: exact, small, and refused with other data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.reader.checkpoint import Checkpoint, combine_states, load_state, save_state
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.reader_shard import ReaderShard


def _checkpoint(reader: int = 0, readers: int = 2, taken: int = 5) -> Checkpoint:
    return Checkpoint(
        identity="abc", seed=1, progress=EpochProgress(2, 100), reader=reader, readers=readers, taken=taken
    )


def test_a_state_survives_a_file(tmp_path: Path) -> None:
    """What is written is read back, as the same state."""
    path = tmp_path / "state.json"
    save_state(_checkpoint().as_dict(), path)
    assert Checkpoint.from_dict(load_state(path)) == _checkpoint()


def test_readers_in_step_are_one_position() -> None:
    """Combined, or resumed in another number, readers that took equally many leave no gaps."""
    states = [_checkpoint(r).as_dict() for r in range(2)]
    combined = Checkpoint.from_dict(combine_states(states))
    assert combined.progress == EpochProgress(2, 110)
    assert _checkpoint().resumed_by(ReaderShard(3, 7)) == (EpochProgress(2, 110), 0)
    assert _checkpoint(1).resumed_by(ReaderShard(1, 2)) == (EpochProgress(2, 100), 5)


def test_states_of_data_loaders_are_those_of_their_workers() -> None:
    """Two ranks with two workers each; a state from before the last batches would repeat them, and is refused."""
    states = [_checkpoint(r, 4, 5 + 16 * (r % 2)).as_dict() for r in range(4)]
    loaders = [
        {
            "_snapshot": {
                "_main_snapshot": {"_num_workers": 2},
                "_worker_snapshots": {f"worker_{i}": {"dataset_state": states[2 * rank + i]} for i in range(2)},
            },
            "_steps_since_snapshot": 0,
        }
        for rank in range(2)
    ]
    assert combine_states(loaders) == combine_states(states)
    with pytest.raises(UsageError, match="older than its last batch"):
        combine_states([loaders[0], {**loaders[1], "_steps_since_snapshot": 3}])
    with pytest.raises(UsageError, match="not a state of a reader"):
        combine_states([{"_snapshot": {}}])
    with pytest.raises(UsageError, match="not a state of a reader: str 'kafkabal_reader'"):
        combine_states(states[0])  # type: ignore[arg-type] # one state in place of a list


def test_states_of_many_uneven_readers_stay_small() -> None:
    """64 workers, some a batch ahead, take less than 1 kB."""
    states = [_checkpoint(r, 64, 3200 + 32 * (r < 40)).as_dict() for r in range(64)]
    combined = combine_states(states)
    assert len(json.dumps(combined)) < 1000


@pytest.mark.parametrize(
    "damaged",
    [
        {"taken": 2**63},
        {"position": 2**63},
        {"ranges": [[[0, 2**70]], [[0, 2**70]]]},
        {"rounds": [[[1, 0], [1, 2**31]]]},
        {"rounds": [[[1, [[0, 1]]], [1, [[5, 2**31]]]]]},
        {"rounds": [[[1, 0], [1, 1]]] * 400_000},
        {"rounds": [[[1, 0], [1, 2**20]]] + [[[1, 1]]] * 9_000},
        {"rounds": [[[1, [[5, 1]]]]]},
        {"rounds": [[[-(10**8), 0], [10**8 + 2, 0]]]},
    ],
    ids=lambda each: str(each)[:40],
)
def test_damaged_states_are_not_combined(damaged: Mapping[str, Any]) -> None:
    """Numbers that no run reaches would take all memory, minutes, or more than 63 bits."""
    states = [{**_checkpoint(reader).as_dict(), "taken": 1, **damaged} for reader in (0, 1)]
    with pytest.raises(UsageError, match="not a state of a reader"):
        combine_states(states)
    with pytest.raises(UsageError, match=r"not a state of a reader: readers are .* samples apart"):
        combine_states([_checkpoint(0).as_dict(), {**_checkpoint(1).as_dict(), "taken": 10**12}])


def test_what_is_no_list_of_states_is_not_combined() -> None:
    """Nothing at all, and a state that refers to itself: one line each."""
    endless: dict[str, Any] = {}
    endless["worker"] = endless
    nothing: Any = None
    with pytest.raises(UsageError, match="not a state of a reader: NoneType None"):
        combine_states(nothing)
    with pytest.raises(UsageError, match="not a state of a reader: nested too deeply"):
        combine_states([endless])


def test_numbers_of_many_readers_must_fit_into_the_epoch() -> None:
    """Each is small, but gaps between all readers would fill memory; one that takes work from others may be ahead."""
    with pytest.raises(UsageError, match="not a state of this data set: sample 1450000000 of 30000"):
        _checkpoint(0, 50_000, 29_000).check_within(30_000)
    replace(_checkpoint(0, 50, 29_000), ranges=((),) * 49 + (((0, 600),),)).check_within(30_000)
    with pytest.raises(UsageError, match="not a state of this data set"):
        replace(_checkpoint(0, 50, 29_000), ranges=((),) * 49 + (((0, 2700),),)).check_within(30_000)


def test_states_that_do_not_belong_together_are_refused() -> None:
    """A missing one, one with another seed, or of another epoch."""
    one, other = _checkpoint(0), _checkpoint(1)
    with pytest.raises(UsageError, match="all 2 readers"):
        combine_states([one.as_dict()])
    with pytest.raises(UsageError, match="different runs or epochs"):
        combine_states([one.as_dict(), replace(other, seed=2).as_dict()])
    with pytest.raises(UsageError, match="different runs or epochs"):
        combine_states([one.as_dict(), replace(other, progress=EpochProgress(3)).as_dict()])


@pytest.mark.parametrize(
    "wrong",
    [{}, {"kafkabal_reader": 9}, {**_checkpoint().as_dict(), "taken": -1}, {**_checkpoint().as_dict(), "taken": inf}],
)
def test_other_things_are_no_states(wrong: dict[str, object]) -> None:
    """An empty object, another format, a negative number, infinity: one line each."""
    with pytest.raises(UsageError):
        Checkpoint.from_dict(wrong)


def test_a_file_that_is_not_a_state_is_named(tmp_path: Path) -> None:
    """The message begins with the path."""
    path = tmp_path / "state.json"
    path.write_text("[1]")
    with pytest.raises(InputFileError, match=r"state\.json"):
        load_state(path)
