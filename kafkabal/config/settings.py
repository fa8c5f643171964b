"""All persistent user settings: one field per setting, with its key, its option and its parser.

The key is the name in a profile, the option is the command-line flag, and ``KAFKABAL_`` plus the option in capitals is
the environment variable: ``tolerance``, ``--tolerance``, ``KAFKABAL_TOLERANCE``.
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
from kafkabal.errors import InputFileError, OptionError, UsageError


@dataclass(frozen=True, slots=True)
class Key:
    """Names and parser of one setting."""

    name: str
    """Name in a profile."""
    option: str
    """Command-line flag."""
    read: Callable[[YamlNode], Any]
    field: str = ""
    """Field of :class:`Settings`."""

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return "KAFKABAL_" + self.option.removeprefix("--").replace("-", "_").upper()


def _key(name: str, read: Callable[[YamlNode], Any], option: str | None = None) -> dict[str, Key]:
    return {"key": Key(name, option or "--" + name.replace("_", "-"), read)}


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Settings as written in a file."""

    name: str
    path: Path
    settings: Mapping[str, YamlNode]
    """By key; for a profile with a problem, only the known keys."""
    problem: UsageError | None = None
    """Why it cannot be used; None if its keys are valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one command; None means not set: the command has its own default."""

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
    """A snapshot file to use instead of a live cluster."""
    broker_timeout_s: float | None = field(default=None, metadata=_key("broker_timeout", value_parsers.some_time))
    """How long each broker may take to respond."""

    scores: tuple[str, ...] = field(default=(), metadata=_key("scores", value_parsers.scores, "--score"))
    """As ``NAME`` or ``NAME=WEIGHT``; empty for the default ones."""
    tolerance: float | None = field(default=None, metadata=_key("tolerance", value_parsers.percent))
    capacity: PerBroker[int | Mapping[str, int]] = field(
        default_factory=_nothing, metadata=_key("capacity", value_parsers.per_broker(value_parsers.size_or_dir_sizes))
    )
    """Bytes by broker, or by broker and log dir path."""
    volumes: PerBroker[Mapping[str, str]] = field(
        default_factory=_nothing,
        metadata=_key("volumes", value_parsers.per_broker(value_parsers.by_path(value_parsers.text))),
    )
    """Volume name of each log dir, by path; equal names on one broker mean one volume."""
    count_capacity: Literal["equal", "disk"] = field(
        default="equal", metadata=_key("count_capacity", value_parsers.one_of("equal", "disk"))
    )
    """Whether replicas and leaders are due in equal numbers per broker, or in proportion to disks."""
    nic_rate_bytes_per_s: PerBroker[int] = field(
        default_factory=_nothing, metadata=_key("nic_rate", value_parsers.per_broker(value_parsers.rate))
    )

    throttle: int | Literal["auto", "none"] | None = field(
        default=None, metadata=_key("throttle", value_parsers.throttle_or_word)
    )
    """Bytes per second, ``auto`` to derive it from the brokers' load, or ``none`` to set no throttle."""
    log_dir_throttle_bytes_per_s: int | None = field(
        default=None, metadata=_key("log_dir_throttle", value_parsers.throttle)
    )
    dead_after_s: float | None = field(default=None, metadata=_key("dead_after", value_parsers.grace))
    """How long a broker must be dead before its replicas are copied elsewhere."""
    window: str | None = field(default=None, metadata=_key("window", value_parsers.time_window))
    """Time of day in which data may move, such as ``01:00-05:00``."""
    max_bytes: int | None = field(default=None, metadata=_key("max_bytes", value_parsers.size))
    max_moves: int | None = field(default=None, metadata=_key("max_moves", value_parsers.whole_number))
    max_leader_changes: int | None = field(
        default=None, metadata=_key("max_leader_changes", value_parsers.whole_number)
    )
    max_duration_s: float | None = field(default=None, metadata=_key("max_duration", value_parsers.duration))
    topics: tuple[str, ...] = field(default=(), metadata=_key("topics", value_parsers.texts))
    """Topic patterns."""
    exclude_topics: tuple[str, ...] = field(default=(), metadata=_key("exclude_topics", value_parsers.texts))
    exclude_brokers: tuple[int, ...] = field(default=(), metadata=_key("exclude_brokers", value_parsers.broker_ids))
    include_internal: bool = field(default=False, metadata=_key("include_internal", value_parsers.boolean))

    profile: Profile | None = None
    """The profile that was used; long-running commands watch its file for changes."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Where each field that is set was written."""

    @contextmanager
    def naming(self, *names: str) -> Iterator[None]:
        """Add the option, the variable or the profile line of these fields to errors about their values."""
        try:
            yield
        except UsageError as error:
            written = [place for name in names if (place := self.places.get(name))]
            if not written or isinstance(error, InputFileError):
                raise
            raise written[0].error(error.message, hint=error.hint) from error

    @contextmanager
    def naming_options(self) -> Iterator[None]:
        """Name the profile line or the variable in errors about options that were not on the command line."""
        try:
            yield
        except OptionError as error:
            field_name = next((key.field for key in KEYS if key.option == error.option), "")
            place = self.places.get(field_name)
            if place is None or place.name == error.option:
                raise
            raise place.error(error.reason, hint=error.hint) from error

    @property
    def runs_folder_name(self) -> str:
        """Folder of journals in the state folder; runs on snapshots have their own, since they change no cluster."""
        return "snapshot-runs" if self.snapshot else "runs"

    def origin(self, name: str) -> str:
        """Origin of a field's value, for display: ``--tolerance``, ``p.yaml, line 4``, ``default``."""
        return str(self.places.get(name, "default"))


KEYS: tuple[Key, ...] = tuple(
    Key(key.name, key.option, key.read, f.name) for f in fields(Settings) if (key := f.metadata.get("key"))
)
