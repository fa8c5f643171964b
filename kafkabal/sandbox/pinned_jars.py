"""The jars of a Kafka version, by name and checksum, from the lock file shipped for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from kafkabal.errors import UsageError

_SUFFIX: Final = ".lock"
_PREFIX: Final = "kafka-"


@dataclass(frozen=True, slots=True)
class LockedJar:
    """A jar by its Maven name, with its required checksum."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinate(self) -> str:
        """``group:artifact:version``."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file_name(self) -> str:
        """Name of the jar in the cache; the checksum separates files of the same name."""
        return f"{self.artifact}-{self.version}-{self.sha256[:12]}.jar"

    def as_line(self) -> str:
        """The jar as a line of a lock file."""
        return f"{self.coordinate} sha256:{self.sha256}"


@cache
def locked_versions() -> tuple[str, ...]:
    """Kafka versions for which a lock file is shipped, oldest first."""
    names = (entry.name for entry in _locks().iterdir())
    versions = (name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return tuple(sorted(versions, key=lambda version: tuple(map(int, version.split(".")))))


@cache
def read_lock(kafka_version: str) -> tuple[LockedJar, ...]:
    """Read the shipped lock file of a Kafka version.

    Raises
    ------
    UsageError
        If there is none for that version.
    """
    if kafka_version not in locked_versions():
        raise UsageError(
            f"unsupported Kafka version: {kafka_version}", hint=f"choose from: {', '.join(locked_versions())}"
        )
    text = (_locks() / f"{_PREFIX}{kafka_version}{_SUFFIX}").read_text(encoding="ascii")
    return jars_of_lock(text)


def jars_of_lock(text: str) -> tuple[LockedJar, ...]:
    """The jars in the text of a lock file, in its order."""
    return tuple(_parse_line(line) for line in text.splitlines() if line and not line.startswith("#"))


def _locks() -> Traversable:
    return resources.files("kafkabal.sandbox") / "locks"


def _parse_line(line: str) -> LockedJar:
    coordinate, checksum = line.split()
    group, artifact, version = coordinate.split(":")
    return LockedJar(group, artifact, version, checksum.removeprefix("sha256:"))
