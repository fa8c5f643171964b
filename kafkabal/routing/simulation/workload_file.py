"""Read a workload from YAML, or take one of the built-in ones by its name.

::

    records: 200000                     # or  bytes: 10GB
    size: {lognormal: {mean: 110kB, sigma: 0.8}}    # or 1kB, or {folder: DIR}, or {manifest: FILE}
    keys: {zipf: {keys: 10000, exponent: 1.0}}      # or none, or {uniform: 10000}
    rate: 50MB/s
    arrival: poisson                    # or steady
    producers: 4
    metrics_interval: 5s                # how old what policies know of the brokers gets
    transport: {batch: 16KiB, linger: 5ms, in_flight: 5, buffer: 32MiB, acks: all,
                broker_rate: {default: 200MB/s, 3: 25MB/s}, request_time: 1ms, round_trip: 1ms}
    events: [{at: 10s, broker: 3, becomes: slow, factor: 8}, {at: 20s, broker: 2, becomes: dead}]
    cluster: {brokers: 6, racks: 3, capacity: 1TB, leaders: brokers+2, replication_factor: 1,
              existing: {default: 1GB, 1: 2GB}, seed: 0}    # where no real one is given
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from kafkabal.config import values
from kafkabal.config.document import parse_yaml, read_yaml
from kafkabal.errors import InputFileError, UsageError
from kafkabal.routing.simulation.synthetic import Leaders, SyntheticCluster
from kafkabal.routing.simulation.workload import (
    Change,
    Event,
    FixedSize,
    ListedSizes,
    LogNormalSize,
    Process,
    Transport,
    UniformKeys,
    Workload,
    ZipfKeys,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from kafkabal.config.document import Node
    from kafkabal.routing.simulation.workload import Keys, Sizes

T = TypeVar("T")

_ENDINGS = (".yaml", ".yml")
_MANIFEST_KEY = "size_bytes"


@dataclass(frozen=True, slots=True)
class WorkloadFile:
    """A workload, and the cluster that it brings along."""

    workload: Workload
    cluster: SyntheticCluster | None


def workload_names() -> tuple[str, ...]:
    """Names of the built-in workloads, sorted."""
    return tuple(
        sorted(
            entry.name.removesuffix(".yaml")
            for entry in (files(__package__) / "workloads").iterdir()
            if entry.name.endswith(".yaml")
        )
    )


def load_workload(chosen: str) -> WorkloadFile:
    """Load a workload by the name of a built-in one, or from a ``.yaml`` file.

    Raises
    ------
    UsageError
        If there is none of that name.
    InputFileError
        If the file cannot be read or says something wrong; the line is named.
    """
    if chosen in workload_names():
        text = (files(__package__) / "workloads" / f"{chosen}.yaml").read_text(encoding="utf-8")
        return read_workload(parse_yaml(text, f"workload {chosen}"), chosen)
    if chosen.endswith(_ENDINGS) or os.sep in chosen:
        return read_workload(read_yaml(Path(chosen).expanduser()), Path(chosen).stem)
    near = get_close_matches(chosen, workload_names(), n=3, cutoff=0.5)
    listed = ", ".join(near or workload_names())
    raise UsageError(
        f"there is no workload {chosen!r}",
        hint=f"{'did you mean' if near else 'there are'}: {listed}, or a .yaml file",
    )


def read_workload(root: Node, name: str) -> WorkloadFile:
    """Read a document.

    Raises
    ------
    UsageError
        If a key is unknown or a value wrong; place and near keys are named.
    """
    fields = _read(root, _WORKLOAD, "a workload")
    cluster = fields.pop("cluster", None)
    if "records" in fields and "total_bytes" in fields:
        raise root.error("a workload ends by records or by bytes, not by both")
    if "total_bytes" in fields:
        fields["records"] = None
    return WorkloadFile(Workload(name=name, **fields), cluster)


def _read(node: Node, schema: Mapping[str, tuple[str, Callable[[Node], Any]]], what: str) -> dict[str, Any]:
    """The entries of a mapping by the names of the fields that they fill."""
    entries = values.check_keys(node, schema.keys(), what)
    return {schema[key][0]: schema[key][1](value) for key, value in entries.items()}


def _positive(read: Callable[[Node], float]) -> Callable[[Node], Any]:
    def read_positive(node: Node) -> float:
        value = read(node)
        if not value > 0:
            raise node.error("must be above 0")
        return value

    return read_positive


def _number(node: Node) -> float:
    try:
        return float(values.text(node))
    except ValueError:
        raise node.error(f"{values.text(node)!r} is no number") from None


def _only_entry(node: Node, known: Collection[str], what: str) -> tuple[str, Node]:
    entries = values.check_keys(node, known, what)
    if len(entries) != 1:
        raise node.error(f"{what} is one of {', '.join(sorted(known))}")
    return next(iter(entries.items()))


def _sizes(node: Node) -> Sizes:
    if isinstance(node.content, str):
        return FixedSize(_positive(values.size)(node))
    kind, value = _only_entry(node, ("fixed", "lognormal", "folder", "manifest"), "size")
    match kind:
        case "fixed":
            return FixedSize(_positive(values.size)(value))
        case "lognormal":
            found = _read(
                value, {"mean": ("mean_bytes", _positive(values.size)), "sigma": ("sigma", _positive(_number))}, kind
            )
            if len(found) < 2:
                raise value.error("a log-normal size has a mean and a sigma")
            return LogNormalSize(**found)
        case "folder":
            return folder_sizes(values.path(value))
        case _:
            return manifest_sizes(values.path(value))


def folder_sizes(folder: Path) -> ListedSizes:
    """Bytes of all files below a folder, in the order of their paths; empty ones are left out.

    Raises
    ------
    InputFileError
        If it cannot be read or holds no file with anything in it.
    """
    try:
        found = sorted((entry.path, entry.stat().st_size) for entry in _files_below(folder))
    except OSError as error:
        raise InputFileError(folder, f"cannot be read: {error.strerror or error}") from error
    return _listed([size for _, size in found if size], folder)


def _files_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files_below(Path(entry.path))
            elif entry.is_file():
                yield entry


def manifest_sizes(path: Path) -> ListedSizes:
    """Bytes of the records of a manifest: a number a line, or JSON objects in which ``size_bytes`` stands.

    Raises
    ------
    InputFileError
        If it cannot be read, a line is neither, or it lists nothing.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputFileError(path, f"cannot be read: {error.strerror or error}") from error
    sizes = [size for number, line in enumerate(lines, 1) if line.strip() for size in _line_sizes(path, number, line)]
    return _listed(sizes, path)


def _line_sizes(path: Path, number: int, line: bytes) -> Iterator[int]:
    try:
        content = msgspec.json.decode(line)
    except msgspec.DecodeError:
        raise InputFileError(path, "is neither a number nor JSON", line=number) from None
    found = _size_in(content)
    if found is not None and found > 0:
        yield found


def _size_in(content: Any) -> int | None:
    """The size in a line of a manifest; None in one that tells of something else."""
    if isinstance(content, int):
        return content
    if not isinstance(content, dict):
        return None
    if isinstance(content.get(_MANIFEST_KEY), int):
        return int(content[_MANIFEST_KEY])
    return next(
        (size for value in content.values() if isinstance(value, dict) and (size := _size_in(value)) is not None), None
    )


def _listed(sizes: list[int], source: Path) -> ListedSizes:
    if not sizes:
        raise InputFileError(source, "holds nothing to send")
    return ListedSizes(np.array(sizes, np.int64), str(source))


def _keys(node: Node) -> Keys | None:
    if isinstance(node.content, str) or node.content is None:
        if node.content not in ("none", None):
            raise node.error(f"{node.content!r} is none of none, uniform, zipf")
        return None
    kind, value = _only_entry(node, ("uniform", "zipf"), "keys")
    count = _positive(values.whole_number)
    if kind == "uniform":
        return UniformKeys(count(value))
    found = _read(value, {"keys": ("n_keys", count), "exponent": ("exponent", _positive(_number))}, kind)
    if "n_keys" not in found:
        raise value.error("zipf needs the number of its keys")
    return ZipfKeys(found["n_keys"], found.get("exponent", 1.0))


def _transport(node: Node) -> Transport:
    found = _read(node, _TRANSPORT, "transport")
    rates = found.pop("rates", {})
    if "default" in rates:
        found["broker_bytes_per_s"] = rates["default"]
    return Transport(**found, own_bytes_per_s={b: r for b, r in rates.items() if b != "default"})


def _events(node: Node) -> tuple[Event, ...]:
    if not isinstance(node.content, tuple):
        raise node.error("a list of events is meant here")
    return tuple(_event(item) for item in node.content)


def _event(node: Node) -> Event:
    found = _read(node, _EVENT, "an event")
    missing = [key for key, (field, _) in _EVENT.items() if field not in found and field != "factor"]
    if missing:
        raise node.error(f"an event lacks {missing[0]!r}")
    return Event(**found)


def _cluster(node: Node) -> SyntheticCluster:
    found = _read(node, _CLUSTER, "cluster")
    existing = found.pop("existing", {})
    own = {broker: size for broker, size in existing.items() if broker != "default"}
    return SyntheticCluster(**found, existing_bytes=existing.get("default", 0), own_existing_bytes=own)


def _word(kind: Callable[[str], T], *choices: str) -> Callable[[Node], T]:
    read = values.one_of(*choices)
    return lambda node: kind(read(node))


_some = _positive(values.whole_number)
_WORKLOAD: Mapping[str, tuple[str, Callable[[Node], Any]]] = {
    "records": ("records", _some),
    "bytes": ("total_bytes", _positive(values.size)),
    "size": ("sizes", _sizes),
    "keys": ("keys", _keys),
    "rate": ("bytes_per_s", _positive(values.rate)),
    "arrival": ("process", _word(Process, *Process)),
    "producers": ("producers", _some),
    "metrics_interval": ("metrics_interval_s", _positive(values.duration)),
    "transport": ("transport", _transport),
    "events": ("events", _events),
    "cluster": ("cluster", _cluster),
}
_TRANSPORT: Mapping[str, tuple[str, Callable[[Node], Any]]] = {
    "batch": ("batch_bytes", _positive(values.size)),
    "linger": ("linger_s", values.duration),
    "in_flight": ("in_flight", _some),
    "buffer": ("buffer_bytes", _positive(values.size)),
    "buffer_records": ("buffer_records", _some),
    "acks": ("acks_all", _word(lambda word: word == "all", "all", "1")),
    "broker_rate": ("rates", values.per_broker(_positive(values.rate))),
    "request_time": ("request_s", values.duration),
    "round_trip": ("round_trip_s", values.duration),
}
_EVENT: Mapping[str, tuple[str, Callable[[Node], Any]]] = {
    "at": ("at_s", values.duration),
    "broker": ("broker", values.whole_number),
    "becomes": ("becomes", _word(Change, *Change)),
    "factor": ("factor", _positive(_number)),
}
_CLUSTER: Mapping[str, tuple[str, Callable[[Node], Any]]] = {
    "brokers": ("brokers", _some),
    "racks": ("racks", _some),
    "capacity": ("capacity_bytes", _positive(values.size)),
    "partitions": ("partitions", _some),
    "replication_factor": ("replication_factor", _some),
    "leaders": ("leaders", _word(Leaders, *Leaders)),
    "existing": ("existing", values.per_broker(values.size)),
    "seed": ("seed", values.whole_number),
}
