"""Routes records inside librdkafka, by a plug-in of it that is compiled when the package is built.

Where it could not be compiled or librdkafka takes no plug-ins, :class:`~kafkabal.producer.Producer` routes each record
itself, which costs 0.13 microseconds more per record. What the plug-in does is described in ``kafkabal_routing.c``.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_size_t, c_void_p, py_object
from functools import cache
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from weakref import finalize

import numpy as np
from confluent_kafka import cimpl

from kafkabal.compiled_library import addresses_of, is_usable
from kafkabal.model import I64
from kafkabal.routing import MOST_SLOTS

LIBRARY: Final = Path(__file__).with_name("kafkabal_routing.so")
_SETTING: Final = "plugin.library.paths"
_STICKY_MS: Final = "sticky.partitioning.linger.ms"
_DEFAULT_STICKY_MS: Final = 10
_MOST_STICKY_MS: Final = 900_000
_PARTITIONER: Final = "partitioner"
_DEFAULT_PARTITIONER: Final = "consistent_random"
_NEVER_STICKY: Final = frozenset({"consistent", "murmur2", "fnv1a"})
_PARTITIONERS: Final = _NEVER_STICKY | {"random", "consistent_random", "murmur2_random", "fnv1a_random"}
_OLD_TOPIC_SETTINGS: Final = "default.topic.config"
# in the order of the plug-in's struct functions
_FUNCTIONS: Final = (
    "topic_name",
    "topic_partition_available",
    "message_headers",
    "header_get_all",
    "topic_conf_new",
    "conf_get_default_topic_conf",
    "conf_set_default_topic_conf",
    "topic_conf_set_opaque",
    "topic_conf_set_partitioner_cb",
    "conf_interceptor_add_on_new",
    "interceptor_add_on_send",
    "interceptor_add_on_acknowledgement",
    "interceptor_add_on_destroy",
    "msg_partitioner_random",
)
# in the order of the plug-in's struct python_functions
_PYTHON_FUNCTIONS: Final = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyObject_CallFunction",
    "Py_DecRef",
    "PyErr_Fetch",
    "PyErr_Restore",
    "PyErr_WriteUnraisable",
    "Py_AddPendingCall",
    "PyErr_Clear",
    "PyList_GetItem",
    "PyDict_Size",
    "PyDict_GetItemWithError",
    "PyBytes_Size",
    "PyUnicode_GetLength",
    "PyBytes_Type",
    "PyUnicode_Type",
    "PyDict_Type",
)
_FEATURES_BYTES: Final = 1024


class _Slot(Structure):
    """The plug-in's ``struct slot``."""

    _fields_ = (("n_bytes", c_int64), ("excess_bytes", c_int64), ("partition", c_int32))


_PartitionsAndBytes = c_int64 * (2 * MOST_SLOTS)


class _Lane(Structure):
    """The beginning of the plug-in's ``struct lane``, in its memory."""

    _fields_ = (
        ("slots", _Slot * MOST_SLOTS),
        ("slot", c_int32),
        ("slot_count", c_int32),
        ("is_overrun", c_int32),
        ("unrouted_left_bytes", c_int64),
    )


_LaneAt = POINTER(_Lane)


class RoutingPlugin:
    """The plug-in's state of one producer.

    Parameters
    ----------
    plan_slots
        Called with a topic and the bytes of its next record when the topic is new or its slots are used up, by the
        thread that produces.
    client
        The settings of the client, which are changed so that it loads the plug-in.
    routes_keys
        Whether records with keys are routed too.
    """

    def __init__(self, plan_slots: Callable[[str, int], None], client: dict[str, Any], *, routes_keys: bool) -> None:
        loaded = _loaded()
        if loaded is None:
            raise RuntimeError("check is_available() first")
        plugin, kafka = loaded
        self._plugin = plugin
        # kept alive for the plug-in, which does not own it
        self._plan_slots = plan_slots
        partitioner = str(client.get(_PARTITIONER, _DEFAULT_PARTITIONER))
        if partitioner not in _PARTITIONERS:  # librdkafka refuses it
            partitioner = _DEFAULT_PARTITIONER
        by_key = getattr(kafka, f"rd_kafka_msg_partitioner_{partitioner}")
        sticky_ms = _sticky_ms(client.get(_STICKY_MS, _DEFAULT_STICKY_MS), partitioner)
        if sticky_ms is not None:
            # librdkafka's own would take records without keys before the plug-in gets them
            client[_STICKY_MS] = 0
        sticky_us = round((sticky_ms or 0.0) * 1000)
        main_thread = threading.main_thread().ident
        self._producer = plugin.kafkabal_open(plan_slots, main_thread, by_key, sticky_us, routes_keys)
        if not self._producer:
            raise MemoryError
        finalize(self, plugin.kafkabal_release, self._producer).atexit = False
        paths = client.get(_SETTING)
        client[_SETTING] = f"{paths};{LIBRARY}" if paths else str(LIBRARY)

    def __enter__(self) -> None:
        """In this block, the thread creates the client."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._plugin.kafkabal_opened()

    def add_lane(self, topic: str, replaced: Lane | None) -> Lane:
        """Start to route a topic, without the counts of the lane that this one replaces, if any."""
        at = self._plugin.kafkabal_add_lane(self._producer, topic.encode())
        if not at:
            raise MemoryError
        # only now: what is acknowledged from here on counts on the new lane
        return Lane(self, at, np.zeros(0, np.int64) if replaced is None else replaced.in_flight_bytes())

    def count_bytes(self, at: Any, n_partitions: int) -> None:
        """See :meth:`Lane.know_partitions`."""
        if not self._plugin.kafkabal_count(self._producer, at, n_partitions):
            raise MemoryError

    def plan(self, at: Any, slots: Sequence[tuple[int, int]]) -> None:
        """See :meth:`Lane.plan`."""
        self._plugin.kafkabal_plan(at, _PartitionsAndBytes(*chain.from_iterable(slots)), len(slots))

    def left_bytes(self, at: Any) -> int:
        """See :meth:`Lane.left_bytes`."""
        return int(self._plugin.kafkabal_left_bytes(self._producer, at))

    def slot_left_bytes(self, at: Any) -> int:
        """See :meth:`Lane.slot_left_bytes`."""
        return int(self._plugin.kafkabal_slot_left_bytes(self._producer, at))

    @contextmanager
    def run(self, at: Any, n_bytes: int) -> Iterator[int]:
        """See :meth:`Lane.run`."""
        try:
            yield self._plugin.kafkabal_begin_run(self._producer, at, n_bytes)
        finally:
            self._plugin.kafkabal_end_run(self._producer)

    def counts(self, at: Any, n_partitions: int) -> tuple[I64, I64]:
        """See :meth:`Lane.routed_and_settled_bytes`."""
        counts = np.zeros((2, n_partitions), np.int64)
        at_routed = counts.ctypes.data
        self._plugin.kafkabal_counts(self._producer, at, at_routed, at_routed + counts.strides[0], n_partitions)
        return counts[0], counts[1]


class Lane:
    """The routing of one topic inside the plug-in.

    Parameters
    ----------
    earlier_bytes
        int64, by partition: in flight from a lane that this one replaces.
    """

    def __init__(self, plugin: RoutingPlugin, at: Any, earlier_bytes: I64) -> None:
        self._plugin = plugin
        self._at = at
        self._lane = at.contents
        self._earlier_bytes = earlier_bytes
        self._n_partitions = 0

    @property
    def is_used_up(self) -> bool:
        """Whether the next record needs another slot."""
        lane = self._lane
        return bool(lane.slot >= lane.slot_count)

    def overruns(self) -> list[tuple[int, int]]:
        """Of the slots that were planned last and are used up: partition, and bytes by which records overran it."""
        lane = self._lane
        if not lane.is_overrun:
            return []
        used = lane.slots[: lane.slot_count]
        return [(slot.partition, slot.excess_bytes) for slot in used if slot.excess_bytes]

    def plan(self, slots: Sequence[tuple[int, int]]) -> None:
        """Send the next records to these partitions, as many bytes to each; at most
        :data:`~kafkabal.routing.MOST_SLOTS` slots."""
        self._plugin.plan(self._at, slots)

    def left_bytes(self) -> int:
        """Bytes of the next records until slots are to be planned; 0 or less if that is now."""
        return self._plugin.left_bytes(self._at)

    def slot_left_bytes(self) -> int:
        """Bytes that the current slot has left; 0 or less if there is none."""
        return self._plugin.slot_left_bytes(self._at)

    def run(self, n_bytes: int) -> AbstractContextManager[int]:
        """Take bytes of the current slot for values of this length, which the thread sends in this block, by one
        ``produce_batch``, to the partition that it gets. That is -1 if another thread has used up the slot meanwhile:
        librdkafka then chooses."""
        return self._plugin.run(self._at, n_bytes)

    def leave_unrouted(self, n_bytes: int) -> None:
        """Let librdkafka choose the partitions of the next records, of this many bytes, and ask again after them."""
        self._lane.unrouted_left_bytes = n_bytes

    def know_partitions(self, n_partitions: int) -> None:
        """Count bytes of this many partitions of the topic, which librdkafka knows."""
        self._n_partitions = n_partitions
        self._plugin.count_bytes(self._at, n_partitions)

    def routed_and_settled_bytes(self, n_partitions: int) -> tuple[I64, I64]:
        """By partition: bytes of records that were routed there, and how many of them were acknowledged or given up."""
        routed, settled = self._plugin.counts(self._at, n_partitions)
        if len(self._earlier_bytes):
            earlier = self._earlier_bytes[:n_partitions]
            settled[: len(earlier)] -= earlier
        # records that settle may have been sent before there was a view, or to an explicit partition
        return routed, np.minimum(np.maximum(settled, 0), routed)

    def in_flight_bytes(self) -> I64:
        """int64, by partition: bytes that are neither acknowledged nor given up, however the partition was chosen."""
        routed, settled = self._plugin.counts(self._at, self._n_partitions)
        in_flight: I64 = routed - settled
        earlier = self._earlier_bytes[: self._n_partitions]
        in_flight[: len(earlier)] += earlier
        return np.maximum(in_flight, 0)


def is_available(client: Mapping[str, Any]) -> bool:
    """Whether a client with these settings can be routed by the plug-in."""
    return _OLD_TOPIC_SETTINGS not in client and _loaded() is not None


@contextmanager
def in_batch() -> Iterator[None]:
    """In this block the thread does not plan slots: ``produce_batch`` holds a lock of librdkafka meanwhile."""
    loaded = _loaded()
    assert loaded is not None
    plugin, _ = loaded
    try:
        plugin.kafkabal_set_in_batch(1)
        yield
    finally:
        plugin.kafkabal_set_in_batch(0)


def value_ends(records: list[dict[str, Any]]) -> I64 | None:
    """int64, shape (n_records,): bytes of the values of a batch up to and with each record; characters count for text.

    None if a record has a key, headers or an invalid value.
    """
    loaded = _loaded()
    assert loaded is not None
    plugin, _ = loaded
    ends = np.empty(len(records), np.int64)
    is_plain = plugin.kafkabal_sum_values(records, "value", "callback", ends.ctypes.data, len(records))
    return ends if is_plain else None


@cache
def _loaded() -> tuple[Any, Any] | None:
    """The plug-in and librdkafka; None if either is missing or outdated, or librdkafka takes no plug-ins."""
    # librdkafka separates the paths of plug-ins by semicolons
    if ";" in str(LIBRARY) or not is_usable(LIBRARY):
        return None
    try:
        # calls of the plug-in keep Python's lock, which guards the slots
        plugin, kafka = ctypes.PyDLL(str(LIBRARY)), ctypes.CDLL(cimpl.__file__)
        functions = addresses_of(kafka, (f"rd_kafka_{name}" for name in _FUNCTIONS))
        python_functions = addresses_of(ctypes.pythonapi, _PYTHON_FUNCTIONS)
        if not _takes_plugins(kafka):
            return None
    except (OSError, AttributeError):
        return None
    plugin.kafkabal_bind.argtypes = (c_void_p, c_void_p, c_size_t)
    # a pointer, and the last field of what all objects begin with
    plugin.kafkabal_bind(functions, python_functions, object.__basicsize__ - ctypes.sizeof(c_void_p))
    plugin.kafkabal_open.restype = c_void_p
    plugin.kafkabal_open.argtypes = (py_object, ctypes.c_ulong, c_void_p, c_int64, c_int32)
    plugin.kafkabal_release.argtypes = (c_void_p,)
    plugin.kafkabal_add_lane.restype = _LaneAt
    plugin.kafkabal_add_lane.argtypes = (c_void_p, c_char_p)
    plugin.kafkabal_count.argtypes = (c_void_p, _LaneAt, c_int32)
    plugin.kafkabal_sum_values.argtypes = (py_object, py_object, py_object, c_void_p, c_int64)
    plugin.kafkabal_set_in_batch.argtypes = (c_int32,)
    plugin.kafkabal_set_in_batch.restype = None
    plugin.kafkabal_left_bytes.argtypes = (c_void_p, _LaneAt)
    plugin.kafkabal_left_bytes.restype = c_int64
    plugin.kafkabal_slot_left_bytes.argtypes = (c_void_p, _LaneAt)
    plugin.kafkabal_slot_left_bytes.restype = c_int64
    plugin.kafkabal_begin_run.argtypes = (c_void_p, _LaneAt, c_int64)
    plugin.kafkabal_begin_run.restype = c_int32
    plugin.kafkabal_end_run.argtypes = (c_void_p,)
    plugin.kafkabal_end_run.restype = None
    plugin.kafkabal_plan.argtypes = (_LaneAt, _PartitionsAndBytes, c_int32)
    plugin.kafkabal_plan.restype = None
    plugin.kafkabal_counts.argtypes = (c_void_p, _LaneAt, c_void_p, c_void_p, c_int32)
    plugin.kafkabal_counts.restype = None
    return plugin, kafka


def _takes_plugins(kafka: Any) -> bool:
    kafka.rd_kafka_conf_new.restype = c_void_p
    kafka.rd_kafka_conf_get.argtypes = (c_void_p, c_char_p, c_char_p, POINTER(c_size_t))
    kafka.rd_kafka_conf_destroy.argtypes = (c_void_p,)
    conf, size = kafka.rd_kafka_conf_new(), c_size_t(_FEATURES_BYTES)
    found = ctypes.create_string_buffer(_FEATURES_BYTES)
    kafka.rd_kafka_conf_get(conf, b"builtin.features", found, ctypes.byref(size))
    kafka.rd_kafka_conf_destroy(conf)
    return b"plugins" in found.value.split(b",")


def _sticky_ms(given: Any, partitioner: str) -> float | None:
    """For how long librdkafka leaves records without keys with a partition; None for a value that it refuses."""
    try:
        sticky_ms = float(given)
    except (TypeError, ValueError):
        return None
    if not 0 <= sticky_ms <= _MOST_STICKY_MS:
        return None
    return 0.0 if partitioner in _NEVER_STICKY else sticky_ms
