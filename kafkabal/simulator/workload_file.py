"""Reads workloads from YAML: a file, or a built-in one by its name.

::

    records: 200000                     # or  bytes: 10GB
    size: {lognormal: {mean: 110kB, sigma: 0.8}}    # or 1kB, or {folder: DIR}, or {manifest: FILE}
    keys: {zipf: {keys: 10000, exponent: 1.0}}      # or none, or {uniform: 10000}
    rate: 50MB/s
    arrival: poisson                    # or steady
    producers: 4
    metrics_interval: 5s                # maximum age of the broker metrics that policies see
    transport: {batch: 16KiB, linger: 5ms, in_flight: 5, buffer: 32MiB, acks: all,
                broker_rate: {default: 200MB/s, 3: 25MB/s}, request_time: 1ms, round_trip: 1ms}
    log: {headers: 40B, compression: 60%}       # in log dirs: headers of a record; records take 60% of their bytes
    events: [{at: 10s, broker: 3, becomes: slow, factor: 8}, {at: 20s, broker: 2, becomes: dead}]
    cluster: {brokers: 6, racks: 3, capacity: 1TB, leaders: brokers+2, replication_factor: 1,
              existing: {default: 1GB, 1: 2GB}, seed: 0}    # if no real one is given

Numbers beyond their limits are refused: they exceed any real cluster and any memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from kafkabal.config import (
    BATCH_BYTES,
    LINGER_MS,
    Range,
    Schema,
    YamlNode,
    number,
    only_entry,
    parse_yaml,
    positive,
    positive_rate,
    read_fields,
    read_filled_yaml,
    value_parsers,
    within,
    word,
)
from kafkabal.errors import UsageError
from kafkabal.input_files import expand_home
from kafkabal.simulator.data_set_sizes import folder_sizes, manifest_sizes
from kafkabal.simulator.workload import (
    MOST_BYTES,
    MOST_RECORDS,
    ArrivalProcess,
    BrokerEvent,
    BrokerEventKind,
    FixedSize,
    Keys,
    LogNormalSize,
    LogOverhead,
    Sizes,
    Transport,
    UniformKeys,
    Workload,
    ZipfKeys,
)
from kafkabal.simulator.workload_cluster import Leaders, WorkloadCluster
from kafkabal.units import format_duration
from kafkabal.wording import choice_hint

_ENDINGS = (".yaml", ".yml")
# a batch of Kafka, and so a record, has a 32-bit length
_RECORD = Range(1, 2**31 - 1)
_HEADERS = Range(0, 2**31 - 1)
# the limits of the others catch typing errors, and what would not fit into memory
_KEYS = Range(1, 10_000_000)
_SIGMA = Range(0, 5, above=True)
_EXPONENT = Range(0, 10, above=True)
_PRODUCERS = Range(1, 10_000)
_FACTOR = Range(0, 1_000_000, above=True)
_LINGER = Range(0, LINGER_MS.high / 1000)
_IN_FLIGHT = Range(1, 1_000_000)
_BUFFER = Range(1, 2**40)
_BUFFER_RECORDS = Range(1, 1_000_000)
_BROKERS = Range(1, 1000)
_PARTITIONS = Range(1, 10_000)
_COPIES = Range(1, 100)
_CAPACITY = Range(1, 2**50)
_EXISTING = Range(0, 2**50)


@dataclass(frozen=True, slots=True)
class WorkloadFile:
    """A workload, and its own cluster, if any."""

    workload: Workload
    cluster: WorkloadCluster | None
    origin: str
    """As errors name it: the path, or ``workload uneven``."""


def workload_names() -> tuple[str, ...]:
    """Names of the built-in workloads, sorted."""
    return tuple(
        sorted(
            entry.name.removesuffix(".yaml")
            for entry in (files(__package__) / "workloads").iterdir()
            if entry.name.endswith(".yaml")
        )
    )


def load_workload(name: str) -> WorkloadFile:
    """Load a built-in workload by name, or one from a ``.yaml`` file.

    Raises
    ------
    UsageError
        If the name is unknown.
    InputFileError
        If the file cannot be read or is invalid; the message names the line.
    """
    if name in workload_names():
        text = (files(__package__) / "workloads" / f"{name}.yaml").read_text(encoding="utf-8")
        return read_workload(parse_yaml(text, f"workload {name}"), name)
    if name.endswith(_ENDINGS) or os.sep in name:
        return read_workload(read_filled_yaml(expand_home(Path(name))), Path(name).stem)
    raise UsageError(f"unknown workload: {name!r}", hint=f"{choice_hint(name, workload_names())}, or a .yaml file")


def read_workload(root: YamlNode, name: str) -> WorkloadFile:
    """Read a YAML document.

    Raises
    ------
    UsageError
        If a key is unknown or a value invalid; the message names the place and similar keys.
    """
    fields = read_fields(root, _WORKLOAD, "a workload")
    cluster = fields.pop("cluster", None)
    if "records" in fields and "total_bytes" in fields:
        raise root.error("records and bytes cannot be combined")
    if "total_bytes" in fields:
        fields["records"] = None
    return WorkloadFile(Workload(name=name, **fields), cluster, root.place.name)


def _sizes(node: YamlNode) -> Sizes:
    if isinstance(node.content, str):
        return FixedSize(within("size", value_parsers.size, _RECORD)(node))
    kind, value = only_entry(node, ("fixed", "lognormal", "folder", "manifest"), "size")
    match kind:
        case "fixed":
            return FixedSize(within(kind, value_parsers.size, _RECORD)(value))
        case "lognormal":
            found = read_fields(value, _LOGNORMAL, kind)
            if len(found) < 2:
                raise value.error("a log-normal size needs a mean and a sigma")
            return LogNormalSize(**found)
        case "folder":
            return folder_sizes(value_parsers.path(value))
        case _:
            return manifest_sizes(value_parsers.path(value))


def _keys(node: YamlNode) -> Keys | None:
    if isinstance(node.content, str) or node.content is None:
        if node.content not in ("none", None):
            raise node.error(f"unknown value: {node.content!r}", hint="choose from: none, uniform, zipf")
        return None
    kind, value = only_entry(node, ("uniform", "zipf"), "keys")
    if kind == "uniform":
        return UniformKeys(within(kind, value_parsers.whole_number, _KEYS)(value))
    found = read_fields(value, _ZIPF, kind)
    if "n_keys" not in found:
        raise value.error("zipf needs a number of keys")
    return ZipfKeys(found["n_keys"], found.get("exponent", 1.0))


def _transport(node: YamlNode) -> Transport:
    found = read_fields(node, _TRANSPORT, "transport")
    for name, own, default in (
        ("rates", "own_bytes_per_s", "broker_bytes_per_s"),
        ("requests", "own_request_s", "request_s"),
    ):
        given = found.pop(name, {})
        found[own] = {broker: value for broker, value in given.items() if broker != "default"}
        if "default" in given:
            found[default] = given["default"]
    return Transport(**found)


def _log(node: YamlNode) -> LogOverhead:
    return LogOverhead(**read_fields(node, _LOG, "log"))


def _compression(node: YamlNode) -> float:
    """A fraction above 0 and at most 1; a bare 1 means no compression, not one percent."""
    left = 1.0 if value_parsers.text(node) == "1" else value_parsers.percent(node)
    if not 0 < left <= 1:
        raise node.error("compression must be above 0% and at most 100%")
    return left


def _events(node: YamlNode) -> tuple[BrokerEvent, ...]:
    if not isinstance(node.content, tuple):
        raise node.error("expected a list of events")
    return tuple(_event(item) for item in node.content)


def _event(node: YamlNode) -> BrokerEvent:
    found = read_fields(node, _EVENT, "an event")
    missing = [key for key, (field, _) in _EVENT.items() if field not in found and field != "factor"]
    if missing:
        raise node.error(f"event without {missing[0]!r}")
    if found["becomes"] is BrokerEventKind.SLOW and "factor" not in found:
        raise node.error("a slow event needs 'factor', how many times slower")
    if found["becomes"] is not BrokerEventKind.SLOW and "factor" in found:
        raise node.error(f"'factor' applies to slow events only, not to {found['becomes']}")
    return BrokerEvent(**found)


def _cluster(node: YamlNode) -> WorkloadCluster:
    found = read_fields(node, _CLUSTER, "cluster")
    existing = found.pop("existing", {})
    own = {broker: size for broker, size in existing.items() if broker != "default"}
    cluster = WorkloadCluster(**found, existing_bytes=existing.get("default", 0), own_existing_bytes=own)
    strangers = [broker for broker in own if not 1 <= broker <= cluster.brokers]
    if strangers:
        raise node.error(f"existing: unknown broker: {strangers[0]}", hint=f"choose from: 1 to {cluster.brokers}")
    return cluster


_WORKLOAD: Schema = {
    "records": ("records", within("records", value_parsers.whole_number, Range(1, MOST_RECORDS))),
    "bytes": ("total_bytes", within("bytes", value_parsers.size, Range(1, MOST_BYTES))),
    "size": ("sizes", _sizes),
    "keys": ("keys", _keys),
    "rate": ("bytes_per_s", positive_rate),
    "arrival": ("process", word(ArrivalProcess, *ArrivalProcess)),
    "producers": ("producers", within("producers", value_parsers.whole_number, _PRODUCERS)),
    "metrics_interval": ("metrics_interval_s", positive(value_parsers.duration)),
    "transport": ("transport", _transport),
    "log": ("log", _log),
    "events": ("events", _events),
    "cluster": ("cluster", _cluster),
}
_LOGNORMAL: Schema = {
    "mean": ("mean_bytes", within("mean", value_parsers.size, _RECORD)),
    "sigma": ("sigma", within("sigma", number, _SIGMA)),
}
_ZIPF: Schema = {
    "keys": ("n_keys", within("keys", value_parsers.whole_number, _KEYS)),
    "exponent": ("exponent", within("exponent", number, _EXPONENT)),
}
_TRANSPORT: Schema = {
    "batch": ("batch_bytes", within("batch", value_parsers.size, BATCH_BYTES)),
    "linger": ("linger_s", within("linger", value_parsers.duration, _LINGER, format_duration)),
    "in_flight": ("in_flight", within("in_flight", value_parsers.whole_number, _IN_FLIGHT)),
    "buffer": ("buffer_bytes", within("buffer", value_parsers.size, _BUFFER)),
    "buffer_records": ("buffer_records", within("buffer_records", value_parsers.whole_number, _BUFFER_RECORDS)),
    "acks": ("acks_all", word(lambda word: word == "all", "all", "1")),
    "broker_rate": ("rates", value_parsers.per_broker(positive_rate)),
    "request_time": ("requests", value_parsers.per_broker(value_parsers.duration)),
    "round_trip": ("round_trip_s", value_parsers.duration),
}
_LOG: Schema = {
    "headers": ("header_bytes", within("headers", value_parsers.size, _HEADERS)),
    "compression": ("compression", _compression),
}
_EVENT: Schema = {
    "at": ("at_s", value_parsers.duration),
    "broker": ("broker", value_parsers.whole_number),
    "becomes": ("becomes", word(BrokerEventKind, *BrokerEventKind)),
    "factor": ("factor", within("factor", number, _FACTOR)),
}
_CLUSTER: Schema = {
    "brokers": ("brokers", within("brokers", value_parsers.whole_number, _BROKERS)),
    "racks": ("racks", within("racks", value_parsers.whole_number, _BROKERS)),
    "capacity": ("capacity_bytes", within("capacity", value_parsers.size, _CAPACITY)),
    "partitions": ("partitions", within("partitions", value_parsers.whole_number, _PARTITIONS)),
    "replication_factor": ("replication_factor", within("replication_factor", value_parsers.whole_number, _COPIES)),
    "leaders": ("leaders", word(Leaders, *Leaders)),
    "existing": ("existing", value_parsers.per_broker(within("existing", value_parsers.size, _EXISTING))),
    "seed": ("seed", value_parsers.whole_number),
}
