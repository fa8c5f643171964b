"""The specification of a sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from kafkabal.errors import OptionError, UsageError
from kafkabal.sandbox.pinned_jars import locked_versions
from kafkabal.wording import counted_noun

DEFAULT_KAFKA_VERSION: Final = "4.1.2"
ZOOKEEPER_KAFKA_VERSION: Final = "3.9.2"
INNER_LISTENER: Final = "PLAINTEXT"
CONTROLLER_LISTENER: Final = "CONTROLLER"

_MIB: Final = 2**20
_MAX_BROKERS: Final = 50
"""At 270 MB each they take 13 GB; a larger number is a typing error."""
_MAX_LOG_DIRS: Final = 50
"""Real brokers have up to a few dozen."""
_CONTROLLERS: Final = (1, 3, 5)
"""A quorum needs a majority: an even number tolerates no more failures than the odd one below it."""
_MIN_HEAP_BYTES: Final = 128 * _MIB
"""A lone broker holds 1,000 idle replicas in it (2026-11)."""
_BASE_HEAP_BYTES: Final = 256 * _MIB
"""For a broker with up to a thousand replicas."""
_HEAP_BYTES_PER_REPLICA: Final = 192 * 1024
"""Brokers with 256 MiB that copy from each other ran out of memory somewhere between 2,000 and 4,000 replicas each,
which is 64 to 128 KiB per replica; half as much again for garbage between two collections. A lone broker holds 4,000
idle ones in 256 MiB (2026-11)."""
_OWN_PROPERTIES: Final = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.voters",
        "listener.security.protocol.map",
        "listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "node.id",
        "process.roles",
        "zookeeper.connect",
    }
)

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaListener:
    """A listener of every broker, in addition to the plaintext one for traffic between brokers.

    Parameters
    ----------
    name
        In upper case, as in ``listener.name.<name in lower case>.ssl.keystore.location``.
    protocol
        Its security protocol.
    advertised_ports
        By broker id, the loopback port that clients should use, such as the port of a proxy.
    """

    name: str
    protocol: Protocol
    advertised_ports: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name.isupper() or not self.name.isidentifier():
            raise UsageError(f"invalid listener name: {self.name!r}", hint="use capitals, such as TLS")
        if self.name in (INNER_LISTENER, CONTROLLER_LISTENER):
            raise UsageError(f"reserved listener name: {self.name}")
        if self.protocol not in get_args(Protocol):
            raise UsageError(
                f"unknown security protocol: {self.protocol!r}", hint=f"choose from: {', '.join(get_args(Protocol))}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """The specification of a sandbox.

    Parameters
    ----------
    brokers
        1 to 50; their ids count from 1.
    racks
        Number of racks ``r0``, ``r1``, ..., assigned to the brokers in turn; 0 for none, None for up to 3.
    log_dirs
        Log dirs per broker.
    controllers
        1: broker 1 is also the controller. 3 or more: separate controller processes, ids from 101.
    zookeeper
        Use a ZooKeeper, with the last Kafka version that supports one, instead of KRaft.
    kafka_version
        One of :func:`~kafkabal.sandbox.pinned_jars.locked_versions`; None for the default.
    log_dir_capacity_bytes
        Stated capacity of a log dir, since all of them share this machine's volume.
    expected_replicas
        Expected replicas per broker; its heap is sized for them.
    heap_bytes
        Heap of each broker; None to derive it from ``expected_replicas``.
    listeners
        Listeners in addition to the plaintext one.
    properties, broker_properties
        Settings of all nodes, and of single brokers by id, which take precedence.
    class_path, broker_class_path
        Jars or folders added to the class path of all nodes, and of single brokers by id.
    jvm_options
        JVM options of every node, after those of the sandbox.

    Raises
    ------
    UsageError
        If these are inconsistent.
    """

    brokers: int = 3
    racks: int | None = None
    log_dirs: int = 2
    controllers: int = 1
    zookeeper: bool = False
    kafka_version: str | None = None
    log_dir_capacity_bytes: int = 10 * 2**30
    expected_replicas: int = 1000
    heap_bytes: int | None = None
    listeners: tuple[KafkaListener, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    broker_properties: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    class_path: tuple[Path, ...] = ()
    broker_class_path: Mapping[int, tuple[Path, ...]] = field(default_factory=dict)
    jvm_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_counts()
        self._check_version()
        self._check_properties()
        if len({listener.name for listener in self.listeners}) < len(self.listeners):
            raise UsageError("duplicate listener name")

    @property
    def version(self) -> str:
        """The Kafka version that it runs."""
        return self.kafka_version or (ZOOKEEPER_KAFKA_VERSION if self.zookeeper else DEFAULT_KAFKA_VERSION)

    @property
    def broker_heap_bytes(self) -> int:
        """Heap of a broker: as given, else 256 MiB plus 192 KiB for each replica above the first thousand."""
        if self.heap_bytes is not None:
            return self.heap_bytes
        return _BASE_HEAP_BYTES + _HEAP_BYTES_PER_REPLICA * max(0, self.expected_replicas - 1000)

    @property
    def internal_replication_factor(self) -> int:
        """Replication factor of Kafka's own topics: 3 if there are 3 brokers."""
        return min(3, self.brokers)

    def rack_of(self, broker: int) -> str | None:
        """Rack of a broker; None without racks."""
        racks = min(3, self.brokers) if self.racks is None else self.racks
        return f"r{(broker - 1) % racks}" if racks else None

    def _check_counts(self) -> None:
        if not 1 <= self.brokers <= _MAX_BROKERS:
            raise OptionError("--brokers", f"must be between 1 and {_MAX_BROKERS}: {self.brokers}")
        if self.racks is not None and not 0 <= self.racks <= self.brokers:
            raise OptionError("--racks", f"must be between 0 and the number of brokers ({self.brokers}): {self.racks}")
        if not 1 <= self.log_dirs <= _MAX_LOG_DIRS:
            raise OptionError("--log-dirs", f"must be between 1 and {_MAX_LOG_DIRS}: {self.log_dirs}")
        if self.log_dir_capacity_bytes < 1:
            raise OptionError("--capacity", "must be above 0")
        if self.heap_bytes is not None and self.heap_bytes < _MIN_HEAP_BYTES:
            raise OptionError("--heap", f"must be at least 128 MiB: {self.heap_bytes}")
        if self.controllers not in _CONTROLLERS:
            raise OptionError("--controllers", f"must be 1, 3 or 5: {self.controllers}")

    def _check_version(self) -> None:
        if self.version not in locked_versions():
            raise OptionError(
                "--kafka-version",
                f"unknown version: {self.version}",
                hint=f"choose from: {', '.join(locked_versions())}",
            )
        if self.zookeeper and self.version != ZOOKEEPER_KAFKA_VERSION:
            raise UsageError(
                f"--kafka-version {self.version} and --zookeeper cannot be combined",
                hint=f"ZooKeeper needs Kafka {ZOOKEEPER_KAFKA_VERSION}: leave out --kafka-version",
            )
        if self.zookeeper and self.controllers != 1:
            raise UsageError("--controllers and --zookeeper cannot be combined", hint="leave out --controllers")

    def _check_properties(self) -> None:
        brokers = range(1, self.brokers + 1)
        for broker in [*self.broker_properties, *self.broker_class_path]:
            if broker not in brokers:
                raise UsageError(
                    f"settings for unknown broker {broker}: the sandbox has {counted_noun(self.brokers, 'broker')}"
                )
        given = set(self.properties).union(*self.broker_properties.values())
        if own := sorted(_OWN_PROPERTIES & given):
            raise UsageError(
                f"reserved settings, set by the sandbox: {', '.join(own)}",
                hint="use the options for racks, log dirs, controllers and listeners",
            )
