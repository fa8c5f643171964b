"""All that a user may set for good: one field a setting, with its key, its option and how its text is read.

The key is the name in a profile; the option is the flag on the command line, and ``KAFKABAL_`` followed by the
option in capitals the environment variable: ``tolerance``, ``--tolerance``, ``KAFKABAL_TOLERANCE``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from kafkabal.config import value_parsers
from kafkabal.config.value_parsers import PerBroker
from kafkabal.config.yaml_document import Place, YamlNode
from kafkabal.errors import InputFileError, UsageError


@dataclass(frozen=True, slots=True)
class Key:
    """How one setting is named and read."""

    name: str
    """In a profile."""
    option: str
    """Flag on the command line."""
    read: Callable[[YamlNode], Any]
    field: str = ""
    """Of :class:`Settings`."""

    @property
    def variable(self) -> str:
        """Environment variable."""
        return "KAFKABAL_" + self.option.removeprefix("--").replace("-", "_").upper()


def _key(name: str, read: Callable[[YamlNode], Any], option: str | None = None) -> dict[str, Key]:
    return {"key": Key(name, option or "--" + name.replace("_", "-"), read)}


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Settings as they stand in a file."""

    name: str
    path: Path
    settings: Mapping[str, YamlNode]
    """By key; of a profile with a problem, those that are known."""
    problem: UsageError | None = None
    """Why it cannot be used; None where its keys are right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds for one command; None means that it was not set and the command has its own default."""

    bootstrap_servers: tuple[str, ...] = field(
        default=(), metadata=_key("bootstrap_servers", value_parsers.texts, "--bootstrap-server")
    )
    bootstrap_controllers: tuple[str, ...] = field(
        default=(), metadata=_key("bootstrap_controllers", value_parsers.texts, "--bootstrap-controller")
    )
    command_config: Path | None = field(default=None, metadata=_key("command_config", value_parsers.path))
    """A Java ``client.properties``."""
    zookeeper: str | None = field(default=None, metadata=_key("zookeeper", value_parsers.text))
    snapshot: Path | None = field(default=None, metadata=_key("snapshot", value_parsers.path))
    """A snapshot file that stands for the cluster."""
    broker_timeout_s: float | None = field(default=None, metadata=_key("broker_timeout", value_parsers.some_time))
    """How long each broker may take to answer."""

    scores: tuple[str, ...] = field(default=(), metadata=_key("scores", value_parsers.scores, "--score"))
    """As ``NAME`` or ``NAME=WEIGHT``; empty means the default ones."""
    tolerance: float | None = field(default=None, metadata=_key("tolerance", value_parsers.percent))
    capacity: PerBroker[int | Mapping[str, int]] = field(
        default_factory=_nothing, metadata=_key("capacity", value_parsers.per_broker(value_parsers.size_or_dir_sizes))
    )
    """Bytes of a broker, or of its log dirs by path."""
    volumes: PerBroker[Mapping[str, str]] = field(
        default_factory=_nothing,
        metadata=_key("volumes", value_parsers.per_broker(value_parsers.by_path(value_parsers.text))),
    )
    """Name of the volume of each log dir, by path; equal names on one broker mean one volume."""
    count_capacity: Literal["equal", "disk"] = field(
        default="equal", metadata=_key("count_capacity", value_parsers.one_of("equal", "disk"))
    )
    """Whether all brokers should have as many replicas and leaders, or in proportion to their disks."""
    nic_rate_bytes_per_s: PerBroker[int] = field(
        default_factory=_nothing, metadata=_key("nic_rate", value_parsers.per_broker(value_parsers.rate))
    )

    throttle: int | Literal["auto", "none"] | None = field(
        default=None, metadata=_key("throttle", value_parsers.rate_or_word)
    )
    """Bytes a second, or derived from what the brokers carry, or none of ours."""
    log_dir_throttle_bytes_per_s: int | None = field(
        default=None, metadata=_key("log_dir_throttle", value_parsers.rate)
    )
    dead_after_s: float | None = field(default=None, metadata=_key("dead_after", value_parsers.grace))
    """How long a broker has to be dead before its replicas are copied elsewhere."""
    window: str | None = field(default=None, metadata=_key("window", value_parsers.time_window))
    """Time of day in which data may move, such as ``01:00-05:00``."""
    max_bytes: int | None = field(default=None, metadata=_key("max_bytes", value_parsers.size))
    max_moves: int | None = field(default=None, metadata=_key("max_moves", value_parsers.whole_number))
    max_leader_changes: int | None = field(
        default=None, metadata=_key("max_leader_changes", value_parsers.whole_number)
    )
    max_duration_s: float | None = field(default=None, metadata=_key("max_duration", value_parsers.duration))
    topics: tuple[str, ...] = field(default=(), metadata=_key("topics", value_parsers.texts))
    """Patterns."""
    exclude_topics: tuple[str, ...] = field(default=(), metadata=_key("exclude_topics", value_parsers.texts))
    exclude_brokers: tuple[int, ...] = field(default=(), metadata=_key("exclude_brokers", value_parsers.broker_ids))
    include_internal: bool = field(default=False, metadata=_key("include_internal", value_parsers.boolean))

    profile: Profile | None = None
    """The profile that was used; its file is what a long-running command watches for changes."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Where each field that was set was written."""

    @contextmanager
    def naming(self, *names: str) -> Iterator[None]:
        """Name the line of the profile, or the variable, where one of these fields was written, if its value is wrong.

        Flags name themselves: the user has just typed them.
        """
        try:
            yield
        except UsageError as error:
            written = [place for name in names if (place := self.places.get(name)) and not place.name.startswith("--")]
            if not written or isinstance(error, InputFileError):
                raise
            raise written[0].error(error.message, hint=error.hint) from error

    def origin(self, name: str) -> str:
        """Where the value of a field comes from, for people: ``--tolerance``, ``p.yaml, line 4``, ``default``."""
        return str(self.places.get(name, "default"))


KEYS: tuple[Key, ...] = tuple(
    Key(key.name, key.option, key.read, f.name) for f in fields(Settings) if (key := f.metadata.get("key"))
)
