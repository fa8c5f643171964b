"""Where a reader is, as a few plain numbers that go with the trainer's own checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kafkabal.errors import UsageError
from kafkabal.files import replacing
from kafkabal.input_files import decode_json, read_bytes
from kafkabal.reader.progress import Progress

if TYPE_CHECKING:
    from kafkabal.reader.share import Share

FORMAT: Final = 1
_STATE: Final = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a reader has had."""

    identity: str
    """Of the manifest."""
    seed: int | None
    progress: Progress
    """When the readers began."""
    reader: int
    readers: int
    taken: int
    """Samples that this reader has had since."""

    def as_dict(self) -> dict[str, Any]:
        """Numbers, texts and lists; less than 1 kB as JSON."""
        return {
            "kafkabal_reader": FORMAT,
            "identity": self.identity,
            "seed": self.seed,
            **self.progress.as_dict(),
            "reader": self.reader,
            "readers": self.readers,
            "taken": self.taken,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Checkpoint:
        """The opposite of :meth:`as_dict`.

        Raises
        ------
        UsageError
            If it is something else.
        """
        try:
            if state["kafkabal_reader"] != FORMAT:
                raise UsageError(f"unknown format of a reader's state: {state['kafkabal_reader']}")
            found = cls(
                identity=str(state["identity"]),
                seed=None if state["seed"] is None else int(state["seed"]),
                progress=Progress.from_dict(state),
                reader=int(state["reader"]),
                readers=int(state["readers"]),
                taken=int(state["taken"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"not a state of a reader: {error}") from error
        if not (0 <= found.reader < found.readers and found.taken >= 0):
            raise UsageError("not a state of a reader: numbers out of range")
        return found

    def resumed_by(self, share: Share) -> tuple[Progress, int]:
        """Where a reader goes on: the progress it starts from, and how many of its samples it has had.

        The same reader of as many goes on where it was. For another number of readers all of these are taken to be
        where this one is, as they are where the trainer keeps them in step; :func:`combine_states` is for the others.
        """
        if (self.reader, self.readers) == (share.reader, share.readers):
            return self.progress, self.taken
        return self.progress.after([self.taken] * self.readers), 0


def combine_states(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One state from those of all readers, which need not be in step; it is valid for any number of readers.

    Raises
    ------
    UsageError
        If they do not belong together, or one is missing.
    """
    found = sorted((Checkpoint.from_dict(state) for state in states), key=lambda each: each.reader)
    if not found:
        raise UsageError("no states to combine")
    first = found[0]
    if any((c.identity, c.seed, c.readers, c.progress) != _common(first) for c in found):
        raise UsageError("the states to combine are of different runs or epochs")
    if [c.reader for c in found] != list(range(first.readers)):
        raise UsageError(f"states of all {first.readers} readers are needed (given: {len(found)})")
    progress = first.progress.after([c.taken for c in found])
    return Checkpoint(
        identity=first.identity, seed=first.seed, progress=progress, reader=0, readers=1, taken=0
    ).as_dict()


def _common(checkpoint: Checkpoint) -> tuple[str, int | None, int, Progress]:
    return checkpoint.identity, checkpoint.seed, checkpoint.readers, checkpoint.progress


def load_state(path: Path) -> dict[str, Any]:
    """Read a state that :func:`save_state` wrote.

    Raises
    ------
    InputFileError
        If the file cannot be read, or is no JSON object.
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
