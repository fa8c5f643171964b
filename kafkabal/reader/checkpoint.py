"""The position of a reader, as a few numbers to store with the trainer's own checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, Final

from kafkabal.atomic_files import replacing
from kafkabal.errors import UsageError
from kafkabal.input_files import decode_json, read_bytes
from kafkabal.json_decoders import json_decoder
from kafkabal.reader.epoch_progress import MOST_READERS, EpochProgress, Ranges
from kafkabal.reader.reader_shard import ReaderShard

FORMAT: Final = 3
"""Formats 1 and 2 had the blocks of a lane in another order."""
_MOST: Final = 2**46
"""Limit of samples: sums of their numbers are less than 63 bits."""
_STATE: Final = json_decoder(dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a reader has had so far."""

    identity: str
    """Identity of the manifest."""
    seed: int | None
    progress: EpochProgress
    """Where the epoch stood when the readers started."""
    reader: int
    readers: int
    taken: int
    """Samples that this reader has had since."""
    ranges: Ranges | None = None
    """Which samples those are, if readers take work from each other."""

    def as_dict(self) -> dict[str, Any]:
        """As numbers, texts and lists; less than 1 kB as JSON."""
        return {
            "kafkabal_reader": FORMAT,
            "identity": self.identity,
            "seed": self.seed,
            **self.progress.as_dict(),
            "reader": self.reader,
            "readers": self.readers,
            "taken": self.taken,
            **({} if self.ranges is None else {"ranges": self.ranges}),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Checkpoint:
        """The inverse of :meth:`as_dict`.

        Raises
        ------
        UsageError
            If ``state`` is not such a dict.
        """
        if not isinstance(state, Mapping):
            raise _not_a_state(f"{type(state).__name__} {state!r:.40}")
        try:
            if state["kafkabal_reader"] != FORMAT:
                raise UsageError(f"unknown format of a reader's state: {state['kafkabal_reader']}")
            found = cls(
                identity=str(state["identity"]),
                seed=None if state["seed"] is None else index(state["seed"]),
                progress=EpochProgress.from_dict(state),
                reader=index(state["reader"]),
                readers=index(state["readers"]),
                taken=index(state["taken"]),
                ranges=_ranges(state.get("ranges")),
            )
        except KeyError as error:
            raise _not_a_state(f"no {error.args[0]}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"not a state of a reader: {error}") from error
        is_whole = found.ranges is None or len(found.ranges) == found.readers
        most = max(found.furthest, found.progress.furthest)
        if not (0 <= found.reader < found.readers <= MOST_READERS and found.taken >= 0 and most < _MOST and is_whole):
            raise UsageError("not a state of a reader: numbers out of range")
        return found

    @property
    def furthest(self) -> int:
        """How many samples an epoch must have, but for a reader's last one, for these numbers to occur."""
        if self.ranges is None:
            return self.readers * self.taken
        # one that takes work from others may have had more than its own share
        return max([self.taken, *(self.readers * after for each in self.ranges for _, after in each)])

    def check_within(self, samples: int) -> None:
        """Refuse numbers that cannot occur in an epoch of this many samples.

        Raises
        ------
        UsageError
            If there are any: they would fill memory with gaps, or make the data set look fully read.
        """
        most = max(self.furthest, self.progress.furthest)
        if most > samples + MOST_READERS:  # samples that are repeated at the end have higher numbers
            raise UsageError(f"not a state of this data set: sample {most} of {samples}")

    def resumed_by(self, shard: ReaderShard) -> tuple[EpochProgress, int]:
        """Where a reader resumes: the progress it starts from, and how many of its samples it has had.

        If the number of readers is unchanged, each resumes exactly where it was. Otherwise all readers are assumed to
        be where this one is, which holds if the trainer keeps them in step; if not, use :func:`combine_states`.
        """
        if self.ranges is not None:
            if self.readers > 1:
                raise UsageError(
                    f"the state of reader {self.reader} of {self.readers} differs from the others",
                    hint="combine the states of all readers with combine_states([...])",
                )
            return self.progress.after_ranges(self.ranges), 0
        if (self.reader, self.readers) == (shard.reader, shard.readers):
            return self.progress, self.taken
        return self.progress.after([self.taken] * self.readers), 0


def combine_states(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the states of all readers, which need not be in step; the result is valid for any number of readers.

    Parameters
    ----------
    states
        States of readers, or of torchdata's ``StatefulDataLoader``, which has a reader in each worker.

    Raises
    ------
    UsageError
        If they do not belong together, or one is missing.
    """
    if not isinstance(states, Iterable):
        raise _not_a_state(f"{type(states).__name__} {states!r:.40}")
    try:
        each_reader = (Checkpoint.from_dict(own) for state in states for own in list(_states_within(state)) or [state])
        found = sorted(each_reader, key=lambda each: each.reader)
    except RecursionError as error:
        raise _not_a_state("nested too deeply") from error
    if not found:
        raise UsageError("no states to combine")
    first = found[0]
    if any((c.identity, c.seed, c.readers, c.progress) != _common(first) for c in found):
        raise UsageError("the states to combine are of different runs or epochs")
    if [c.reader for c in found] != list(range(first.readers)):
        raise UsageError(f"states of all {first.readers} readers are needed (given: {len(found)})")
    progress = first.progress.after([c.taken for c in found])
    if any(c.ranges is not None for c in found):
        had = [c.ranges for c in found if c.ranges is not None]
        progress = first.progress.after_ranges(
            tuple(tuple(r for each in had for r in each[i]) for i in range(len(found)))
        )
    return Checkpoint(
        identity=first.identity, seed=first.seed, progress=progress, reader=0, readers=1, taken=0
    ).as_dict()


def _states_within(state: Any) -> Iterator[Mapping[str, Any]]:
    """The states of readers in that of a data loader; a state of a reader itself."""
    if not isinstance(state, Mapping) or "kafkabal_reader" in state:
        yield state
        return
    if state.get("_steps_since_snapshot"):
        raise UsageError(
            "the state of a data loader is older than its last batch",
            hint="create it with snapshot_every_n_steps=1",
        )
    for value in state.values():
        if isinstance(value, Mapping):
            yield from _states_within(value)


def _not_a_state(fault: str) -> UsageError:
    return UsageError(
        f"not a state of a reader: {fault}",
        hint="combine the states of several readers or data loaders with combine_states([...])",
    )


def _ranges(given: Any) -> Ranges | None:
    if given is None:
        return None
    found = tuple(tuple((int(first), int(after)) for first, after in each) for each in given)
    if any(not 0 <= first <= after for each in found for first, after in each):
        raise ValueError("ranges out of order")
    return found


def _common(checkpoint: Checkpoint) -> tuple[str, int | None, int, EpochProgress]:
    return checkpoint.identity, checkpoint.seed, checkpoint.readers, checkpoint.progress


def load_state(path: Path) -> dict[str, Any]:
    """Read a state that :func:`save_state` wrote.

    Raises
    ------
    InputFileError
        If the file cannot be read, or is not a JSON object.
    """
    return decode_json(_STATE, read_bytes(path), path, "not a state of a reader")


def save_state(state: Mapping[str, Any], path: Path) -> None:
    """Write a state, whole or not at all.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with replacing(path) as file:
        file.write(json.dumps(state).encode() + b"\n")
