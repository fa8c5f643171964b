"""confluent-kafka's producer, with a routing policy that picks the partition of every record.

Where librdkafka can load the plug-in of ``routing_plugin.py``, records are routed inside librdkafka. Elsewhere a record
within a slot costs a look-up and a subtraction more than librdkafka's own call. Everything else happens once per slot,
and whatever needs the cluster runs in a thread of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakSet, finalize, ref

import confluent_kafka
import numpy as np
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as Client

from kafkabal.clusters import connect
from kafkabal.config import (
    ConnectionSettings,
    Settings,
    cluster_address,
    connection_of,
    librdkafka_settings,
    settings_of,
)
from kafkabal.errors import ConfigError, OperationError
from kafkabal.model import I64
from kafkabal.producer.keep_freed_memory import keep_freed_memory
from kafkabal.producer.plugin_router import PluginRouter
from kafkabal.producer.producer_options import RoutingOptions, naming, split_options
from kafkabal.producer.routing_plugin import in_batch, value_ends
from kafkabal.producer.routing_view_reader import ClusterWithDisks
from kafkabal.producer.shared_statistics import with_statistics
from kafkabal.producer.slot_router import UNROUTED, Report, RoutingStatus, SlotRouter
from kafkabal.producer.split_produce_batch import (
    by_explicit_partition,
    data_bytes,
    headers_bytes,
    split_batch,
    value_sizes,
    with_report,
)
from kafkabal.producer.topic_routers import LOG, ClosableReader, TopicRouters
from kafkabal.producer.view_refresher import STATISTICS_S
from kafkabal.routing import Slot

_REPORTS: Final = ("on_delivery", "dr_cb", "dr_msg_cb")
# for the client, a callback that is given as None replaces the other argument
_NOT_GIVEN: Final[Any] = object()
_USED_UP: Final = Slot()
_send: Final = Client.produce
_LIVE_PRODUCERS: Final[WeakSet[Producer]] = WeakSet()
_INHERITED: Final[list[Producer]] = []
"""Producers of the process that this one was forked from, kept forever: to destroy a client whose threads do not exist,
as a garbage collection may, hangs or crashes this process."""


class Producer(Client):
    """A drop-in for ``confluent_kafka.Producer`` that keeps brokers evenly loaded.

    It has the same constructor, methods and callbacks. Without routing settings it routes records without keys by the
    score ``disk``. Records with keys keep the partition that librdkafka's partitioner gives them, and an explicit
    partition is obeyed. If the cluster cannot be read, it keeps routing by the last view, or by librdkafka's own
    partitioner if there is none, and logs that once to ``kafkabal.producer``.

    Parameters
    ----------
    config
        As of ``confluent_kafka.Producer``, and

        ``kafkabal.policy``
            As in ``kafkabal produce --policy``; default ``score``.
        ``kafkabal.scores``
            What ``score`` balances, such as ``disk=3,leaders``, or a list; default ``disk``.
        ``kafkabal.rack``
            Rack of the readers, for ``rack-local``.
        ``kafkabal.profile``
            A profile that says how to reach the cluster; settings of librdkafka given here override it.
        ``kafkabal.any.key.order``
            Let the policy spread the records of a key; default false.
        ``kafkabal.refresh.ms``
            Milliseconds between two readings of the cluster, 100 to 86,400,000; default 5000.
        ``kafkabal.first.view.ms``
            For how long the first record of a topic waits for a reading, unless one of the last five seconds has the
            topic; 0 to 86,400,000; default 2000.
        ``kafkabal.seed``
            Makes the routing repeatable; default random.
        ``kafkabal.metrics_cb``
            Called with a :class:`~kafkabal.producer.slot_router.RoutingStatus` of each topic after every reading, by
            the thread that reads.

    Raises
    ------
    UsageError, ConfigError
        If a ``kafkabal.`` setting is unknown or invalid.
    KafkaException, ValueError, TypeError
        As of ``confluent_kafka.Producer``.

    Notes
    -----
    Like ``confluent_kafka.Producer`` it may be shared by threads, but not used in a process forked after it was
    created.
    """

    __slots__ = ("__weakref__", "_is_forked", "_report", "_routing", "_slots")

    _slots: dict[str, Slot]
    """By topic: the current slot, which :meth:`produce` uses up without asking the router."""
    _report: Report | None
    """The delivery callback of the configuration."""
    _routing: TopicRouters | None
    _is_forked: bool

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Allocate only: a subclass that does not call ``__init__`` is refused just as the bare client refuses it."""
        made = super().__new__(cls)
        made._slots = {}
        made._report = None
        made._routing = None
        made._is_forked = False
        return made

    def __init__(self, config: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        given: Any = config  # callers without a type checker pass anything
        if not isinstance(given, Mapping) and (given is not None or not more):
            super().__init__(given)  # raises the client's own error
        options, client = split_options({**({} if config is None else config), **more})
        settings, connection, client = _resolve_config(options, client)
        self._report = next((client[name] for name in _REPORTS if client.get(name) is not None), None)
        routing = None
        if connection is not None:
            keep_freed_memory()
            routing = TopicRouters(options, lambda: open_cluster(connection, settings), ref(self))
            if routing.needs_statistics:
                client = with_statistics(client, routing.read_statistics, STATISTICS_S)
            self._routing = routing
            finalize(self, routing.close)
        # a subclass may have methods that rely on those of this class
        plugin = routing.plug_into(client) if routing is not None and type(self) is Producer else None
        with plugin or nullcontext():
            super().__init__(client)
        if plugin is not None:
            self.__class__ = _PluggedProducer
        _LIVE_PRODUCERS.add(self)

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = UNROUTED,
        callback: Report | None = _NOT_GIVEN,
        on_delivery: Report | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Queue a record; see ``confluent_kafka.Producer.produce``.

        Raises
        ------
        OperationError
            In a process that was forked after the producer was made.
        """
        # this path costs every record 0.18 us, beside 0.4 us of librdkafka's own call: so no Python call, a plain
        # dictionary, and one jump per condition
        # a callable may be false, such as a list that collects reports
        report = on_delivery if callback is _NOT_GIVEN else callback
        if key is None and partition == UNROUTED and headers is None and timestamp == 0 and type(value) is bytes:
            try:
                slot, size_bytes = self._slots[topic], len(value)
            except KeyError:
                slot, size_bytes = _USED_UP, 0
            # no call between this read and the write: without one, no other thread can cut in
            left_bytes = slot.left_bytes
            if left_bytes > 0:
                slot.left_bytes = left_bytes - size_bytes
                try:
                    return _send(self, topic, value, None, slot.partition, report)
                except BaseException as error:
                    slot.left_bytes += size_bytes
                    if not _is_partition_gone(error):
                        raise
        return self._produce_routed(topic, value, key, partition, report, timestamp, headers)

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = UNROUTED,
        callback: Report | None = _NOT_GIVEN,
        on_delivery: Report | None = None,
    ) -> int:
        """Queue many records; see ``confluent_kafka.Producer.produce_batch``. A record's own partition is obeyed.

        Returns
        -------
        int
            How many were queued; each of the other messages gets its ``KafkaError`` as ``_error``.
        """
        report = on_delivery if callback is _NOT_GIVEN else callback
        router = self._router(topic, partition)
        parts = None if router is None else split_batch(messages, routes_keys=router.routes_keys)
        if router is None or parts is None:
            return super().produce_batch(topic, messages, partition, on_delivery=report)
        queued = 0
        for explicit, part in parts.unrouted.items():
            queued += super().produce_batch(topic, part, explicit, on_delivery=report)
        queued += sum(self._produce_keyed(router, message, report) for message in parts.keyed)
        return queued + self._produce_runs(router, parts.plain, parts.sizes, report)

    def routing(self) -> tuple[RoutingStatus, ...]:
        """How records are routed now, for each topic produced to; empty if nothing is routed."""
        return () if self._routing is None else self._routing.status()

    def flush(self, *given: Any, **named: Any) -> Any:
        """See ``confluent_kafka.Producer.flush``.

        Raises
        ------
        OperationError
            As :meth:`produce`: nothing delivers the records there, and the client would wait forever.
        """
        self._check_not_forked()
        return super().flush(*given, **named)

    def close(self, *given: Any, **named: Any) -> Any:
        """See ``confluent_kafka.Producer.close``; does nothing in a process that was forked after the producer was
        made."""
        self._release_client()
        self._stop_routing()
        return None if self._is_forked else super().close(*given, **named)

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        """See ``confluent_kafka.Producer``; does nothing in a process that was forked after the producer was made."""
        self._release_client()
        try:
            return None if self._is_forked else super().__exit__(kind, error, trace)
        finally:
            self._stop_routing()

    def _produce_routed(
        self,
        topic: str,
        value: str | bytes | None,
        key: str | bytes | None,
        explicit: int,
        report: Report | None,
        at_ms: int,
        headers: Any,
    ) -> None:
        """Ask the router, since the current slot does not suffice for this record."""
        router = self._router(topic, explicit)
        if router is None or (key is not None and not router.routes_keys):
            super().produce(topic, value, key, explicit, report, report, at_ms, headers)
            return
        try:
            size_bytes = len(value) if type(value) is bytes else data_bytes(value)
            if key is not None or headers is not None:
                size_bytes += data_bytes(key) + headers_bytes(headers)
        except TypeError:  # neither bytes nor text: the client says so
            super().produce(topic, value, key, explicit, report, report, at_ms, headers)
            return
        size_bytes = size_bytes or 1
        # our report replaces the one in the configuration, and calls it
        picked, on_delivery = router.route(
            key.encode() if isinstance(key, str) else key, size_bytes, self._report if report is None else report
        )
        try:
            super().produce(topic, value, key, picked, on_delivery, on_delivery, at_ms, headers)
        except BaseException as error:
            router.not_sent(picked, size_bytes)
            if not _is_partition_gone(error):
                raise
            router.leave_slot()
        else:
            self._slots[topic] = router.slot
            return
        super().produce(topic, value, key, UNROUTED, report, report, at_ms, headers)

    def _produce_runs(
        self, router: SlotRouter, messages: list[dict[str, Any]], sizes: list[int], report: Report | None
    ) -> int:
        """Queue records without keys, one call per run of records that go to one partition."""
        queued = 0
        for first, end, partition, first_report in router.runs(sizes):
            run = messages[first:end]
            taken = self._produce_run(router.topic, run, partition, first_report, report)
            if taken < len(run):
                for size_bytes, message in zip(sizes[first:end], run, strict=True):
                    if "_error" in message:
                        router.not_sent(partition, size_bytes)
            queued += taken or self._produce_past_gone_partition(router, run, report)
        self._slots[router.topic] = router.slot
        return queued

    def _produce_keyed(self, router: SlotRouter, message: dict[str, Any], report: Report | None) -> int:
        """Queue a record that the policy routes by its key; returns how many were queued."""
        key, value = message.get("key"), message.get("value")
        size_bytes = (data_bytes(value) + data_bytes(key)) or 1
        picked, own_report = router.route(key.encode() if isinstance(key, str) else key, size_bytes, None)
        taken = self._produce_run(router.topic, [message], picked, own_report, report)
        if not taken:
            router.not_sent(picked, size_bytes)
        return taken or self._produce_past_gone_partition(router, [message], report)

    def _produce_run(
        self,
        topic: str,
        run: list[dict[str, Any]],
        partition: int,
        first_report: Report | None,
        report: Report | None,
    ) -> int:
        """Queue records for one partition; the first one is also reported to the router, if that asks for it."""
        if first_report is None:
            return super().produce_batch(topic, run, partition, on_delivery=report)
        with with_report(run[0], first_report, self._report if report is None else report):
            return super().produce_batch(topic, run, partition, on_delivery=report)

    def _produce_past_gone_partition(
        self, router: SlotRouter, refused: list[dict[str, Any]], report: Report | None
    ) -> int:
        """Queue records that the client refused because the topic no longer has their partition, if that is why."""
        if not _is_partition_gone(KafkaException(refused[0].get("_error"))):
            return 0
        router.leave_slot()
        for message in refused:
            message.pop("_error", None)
        taken: int = super().produce_batch(router.topic, refused, UNROUTED, on_delivery=report)
        return taken

    def _router(self, topic: str, explicit: int) -> SlotRouter | None:
        """The router of a topic; None if a partition is given, or nothing is routed."""
        self._check_not_forked()
        return None if explicit != UNROUTED or self._routing is None else self._routing.router(topic)

    def _check_not_forked(self) -> None:
        if self._is_forked:
            raise OperationError(
                "this process was forked after the producer was made", hint="make a producer in each process"
            )

    def _release_client(self) -> None:
        if self._routing is not None:
            self._routing.release_client()

    def _stop_routing(self) -> None:
        routing, self._routing, self._slots = self._routing, None, {}
        if routing is not None:
            routing.close()

    def _refuse_after_fork(self) -> None:
        """The threads of librdkafka, and our own, do not exist in a forked process."""
        self._is_forked, self._routing, self._slots = True, None, {}
        if isinstance(self, _PluggedProducer):
            self.__class__ = Producer  # type: ignore[assignment]  # which refuses records


class _PluggedProducer(Producer):
    """A producer whose records are routed inside librdkafka: its methods are the client's own."""

    __slots__ = ()

    produce = Client.produce

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = UNROUTED,
        callback: Report | None = _NOT_GIVEN,
        on_delivery: Report | None = None,
    ) -> int:
        """See :meth:`Producer.produce_batch`."""
        report = on_delivery if callback is _NOT_GIVEN else callback
        ends = value_ends(messages) if type(messages) is list else None
        by_partition = by_explicit_partition(messages) if partition == UNROUTED and ends is None else None
        if by_partition is None:
            return self._produce_part(topic, messages, partition, report, ends)
        return sum(self._produce_part(topic, part, to, report, None) for to, part in by_partition.items())

    def _produce_part(
        self, topic: str, messages: list[dict[str, Any]], to: int, report: Report | None, ends: I64 | None
    ) -> int:
        router = self._router(topic, to)
        may_run = ends is not None
        if ends is None and router is not None and (sizes := value_sizes(messages)) is not None:
            ends = np.cumsum(sizes)
        if not isinstance(router, PluginRouter) or ends is None or not len(ends) or router.is_entered:
            with in_batch():
                return int(Client.produce_batch(self, topic, messages, to, on_delivery=report))
        queued = 0
        with router.batch_lock:
            for first, end, run_bytes in router.parts(ends, may_run=may_run):
                part = messages if end - first == len(messages) else messages[first:end]
                queued += self._produce_slots(router, part, run_bytes, report)
        return queued

    def _produce_slots(
        self, router: PluginRouter, part: list[dict[str, Any]], run_bytes: int, report: Report | None
    ) -> int:
        """Queue records for which slots are planned; to the current one's partition if their bytes are given."""
        topic = router.topic
        if run_bytes:
            with router.lane.run(run_bytes) as partition:
                queued: int = Client.produce_batch(self, topic, part, partition, on_delivery=report)
            if queued or not _is_partition_gone(KafkaException(part[0].get("_error"))):
                return queued
            for message in part:
                message.pop("_error", None)  # a list may hold one record twice
        with in_batch():
            return int(Client.produce_batch(self, topic, part, UNROUTED, on_delivery=report))


# in errors of Python, which name the class or its method, as in repr()
_PluggedProducer.__name__ = Producer.__name__
_PluggedProducer.__qualname__ = Producer.__qualname__
_PluggedProducer.produce_batch.__qualname__ = Producer.produce_batch.__qualname__

if TYPE_CHECKING:
    _Serializing = confluent_kafka.SerializingProducer[Any, Any]
else:  # before confluent-kafka 2.16 the class takes no types
    _Serializing = confluent_kafka.SerializingProducer


# confluent-kafka itself orders the parameters of these two methods differently
class SerializingProducer(_Serializing, Producer):  # type: ignore[misc]
    """A drop-in for ``confluent_kafka.SerializingProducer``: it serializes first, then routes."""


def _after_fork() -> None:
    _INHERITED.extend(_LIVE_PRODUCERS)
    for producer in _INHERITED:
        producer._refuse_after_fork()  # noqa: SLF001 - of the same module


os.register_at_fork(after_in_child=_after_fork)


def _is_partition_gone(error: BaseException) -> bool:
    """Whether the client refused a record because the topic, re-created since the last view, has fewer partitions."""
    fault = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return isinstance(fault, KafkaError) and fault.code() == KafkaError._UNKNOWN_PARTITION  # noqa: SLF001 - no public name


def open_cluster(connection: ConnectionSettings, settings: Settings | None) -> ClosableReader:
    """Connect to the cluster that a producer reads, with the disk settings of its profile."""
    cluster = connect(connection)
    return cluster if settings is None else ClusterWithDisks(cluster, settings)


def _resolve_config(
    options: RoutingOptions, client: dict[str, Any]
) -> tuple[Settings | None, ConnectionSettings | None, dict[str, Any]]:
    """The profile, the connection settings if they can be known, and the whole librdkafka configuration."""
    if options.profile is None:
        try:
            return None, connection_of(client), client
        except ConfigError as error:
            LOG.warning("records are not routed: %s%s", error, f"; {error.hint}" if error.hint else "")
            return None, None, client
    with naming("profile"):
        settings = settings_of(profile=options.profile)
        address = cluster_address(settings)
        if not isinstance(address, ConnectionSettings):
            raise ConfigError(f"{options.profile}: a producer needs live brokers")
    return settings, address, {**librdkafka_settings(address), **client}
