"""The plan file: JSON that Kafka's tool accepts as ``--reassignment-json-file``, with our part under ``kafkabal``."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec

from kafkabal.atomic_files import replacing
from kafkabal.decoding_faults import decoding_fault
from kafkabal.errors import InputFileError
from kafkabal.input_files import FormatVersion, Int32, decode_json, read_bytes
from kafkabal.json_decoders import converted, json_decoder
from kafkabal.plan.plan import ANY_DIR, PLAN_FORMAT, Action, PartitionChange, Placement, Plan, ScoreChange
from kafkabal.wording import counted_noun

_NO_PLAN = "not a plan file"
_SNAPSHOT_START = b'{"kafkabal_snapshot"'
_Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _OurPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    previous: Placement | None = None
    bytes: _Bytes = 0
    log_dir_bytes: _Bytes = 0
    action: Action = Action.MOVE
    reason: str = ""


class _PartitionEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    topic: str
    partition: Int32
    replicas: tuple[Int32, ...]
    log_dirs: tuple[str, ...] | None = None
    kafkabal: _OurPart | None = None

    @property
    def name(self) -> str:
        """``topic-partition``."""
        return f"{self.topic}-{self.partition}"


class _UsedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that commands use when they apply or show a plan; they only repeat the others."""

    tolerance: float = 0.0
    drain: tuple[Int32, ...] = ()
    exclude_brokers: tuple[Int32, ...] = ()
    exclude_topics: tuple[str, ...] = ()
    replication_factor: Int32 | None = None


class _PlanPart(msgspec.Struct, frozen=True, kw_only=True):
    plan_format: int
    plan_id: str
    cluster_id: str | None = None
    taken_at: str | None = None
    options: dict[str, Any] = {}
    seed: int = 0
    moved_bytes: int = 0
    log_dir_bytes: int = 0
    bound_bytes: int | None = None
    cross_rack_bytes: int | msgspec.UnsetType = msgspec.UNSET
    scores: dict[str, ScoreChange] = {}
    warnings: tuple[str, ...] = ()
    unrepaired: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    topic_ids: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class _PlanEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = 1
    partitions: tuple[_PartitionEntry, ...]
    kafkabal: _PlanPart | None = None


class _Format(msgspec.Struct):
    plan_format: FormatVersion | None = None


class _Versions(msgspec.Struct):
    version: int = 1
    kafkabal: _Format | None = None


def write_plan(plan: Plan, path: Path | str) -> None:
    """Write the plan file, gzipped if the name ends in ``.gz``; it appears whole or not at all.

    One partition per line, ending in a newline; equal plans give equal bytes.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    with replacing(path) as file:
        if str(path).endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=3, mtime=0) as packed:
                packed.writelines(_lines(plan))
        else:
            file.writelines(_lines(plan))


def read_plan(path: Path | str) -> Plan:
    """Read a plan of ours, or plain reassignment JSON of Kafka's tool or another one.

    Raises
    ------
    InputFileError
        If it cannot be read, is not a plan, has a newer format, contradicts itself, or was edited so that its
        ``plan_id`` no longer matches.
    """
    data = read_bytes(path)
    if data.startswith(_SNAPSHOT_START):
        raise InputFileError(
            path,
            f"{_NO_PLAN}, but a snapshot",
            hint="make a plan of it: kafkabal rebalance plan --snapshot FILE --out PLAN",
        )
    _check_versions(path, data)
    entry = decode_json(json_decoder(_PlanEntry), data, path, _NO_PLAN)
    if entry.kafkabal is not None:
        _check_options(path, entry.kafkabal.options)
    for p in entry.partitions:
        _check_partition(path, p)
    names = Counter(p.name for p in entry.partitions)
    for name, times in names.most_common(1):
        if times > 1:
            raise InputFileError(path, f"duplicate partition: {name}")
    plan = _plan(entry)
    if entry.kafkabal is not None and entry.kafkabal.plan_id != plan.plan_id:
        raise InputFileError(
            path,
            f"edited after planning: its content has plan id {plan.plan_id}, not {entry.kafkabal.plan_id}",
            hint="remove the top-level 'kafkabal' key to apply the edited plan",
        )
    return plan


def _lines(plan: Plan) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    yield b'{"version":1,"partitions":['
    for i, change in enumerate(plan.partitions):
        yield (b",\n" if i else b"\n") + encode(_entry(change))
    part = _PlanPart(
        plan_format=PLAN_FORMAT,
        plan_id=plan.plan_id,
        cluster_id=plan.cluster_id,
        taken_at=plan.taken_at,
        options=dict(plan.options),
        seed=plan.seed,
        moved_bytes=plan.moved_bytes,
        log_dir_bytes=plan.log_dir_bytes,
        bound_bytes=plan.bound_bytes,
        cross_rack_bytes=msgspec.UNSET if plan.cross_rack_bytes is None else plan.cross_rack_bytes,
        scores=dict(plan.scores),
        warnings=plan.warnings,
        unrepaired=plan.unrepaired or msgspec.UNSET,
        topic_ids=dict(plan.topic_ids) or msgspec.UNSET,
    )
    yield b'\n],\n"kafkabal":' + encode(part) + b"}\n"


def _entry(change: PartitionChange) -> _PartitionEntry:
    return _PartitionEntry(
        topic=change.topic,
        partition=change.partition,
        replicas=change.replicas,
        log_dirs=change.log_dirs,
        kafkabal=_OurPart(
            previous=change.previous,
            bytes=change.bytes,
            log_dir_bytes=change.log_dir_bytes,
            action=change.action,
            reason=change.reason,
        ),
    )


def _check_versions(path: Path | str, data: bytes) -> None:
    found = decode_json(json_decoder(_Versions), data, path, _NO_PLAN)
    if found.version != 1:
        raise InputFileError(path, f"reassignment JSON version {found.version} is not supported, only 1")
    plan_format = found.kafkabal.plan_format if found.kafkabal else None
    if plan_format is not None and plan_format > PLAN_FORMAT:
        raise InputFileError(
            path,
            f"plan format {plan_format} is not supported; this kafkabal reads formats up to {PLAN_FORMAT}",
            hint="use the version of kafkabal that made the plan, or a later one",
        )


def _check_options(path: Path | str, options: dict[str, Any]) -> None:
    try:
        converted(options, _UsedOptions)
    except msgspec.ValidationError as error:
        raise InputFileError(path, f"options of the plan: {decoding_fault(error)}") from error


def _check_partition(path: Path | str, p: _PartitionEntry) -> None:
    name = p.name
    if not p.topic:
        raise InputFileError(path, f"partition {p.partition} has no topic")
    if p.partition < 0 or not p.replicas:
        raise InputFileError(path, f"{name}: no replicas" if p.partition >= 0 else f"{name}: invalid partition number")
    if len(set(p.replicas)) != len(p.replicas):
        raise InputFileError(path, f"{name}: duplicate broker")
    if p.log_dirs is not None and len(p.log_dirs) != len(p.replicas):
        raise InputFileError(path, f"{name}: {len(p.log_dirs)} log_dirs for {counted_noun(len(p.replicas), 'replica')}")
    relative = [d for d in p.log_dirs or () if d != ANY_DIR and not d.startswith("/")]
    if relative:
        raise InputFileError(path, f"{name}: log dir must be 'any' or an absolute path, not {relative[0]!r}")


def _plan(entry: _PlanEntry) -> Plan:
    changes = tuple(_change(p) for p in sorted(entry.partitions, key=lambda p: (p.topic, p.partition)))
    ours = entry.kafkabal
    if ours is None:
        return Plan(partitions=changes)
    return Plan(
        partitions=changes,
        cluster_id=ours.cluster_id,
        taken_at=ours.taken_at,
        options=ours.options,
        seed=ours.seed,
        bound_bytes=ours.bound_bytes,
        cross_rack_bytes=None if ours.cross_rack_bytes is msgspec.UNSET else ours.cross_rack_bytes,
        scores=ours.scores,
        warnings=ours.warnings,
        unrepaired=() if ours.unrepaired is msgspec.UNSET else ours.unrepaired,
        topic_ids={} if ours.topic_ids is msgspec.UNSET else ours.topic_ids,
    )


def _change(p: _PartitionEntry) -> PartitionChange:
    ours = p.kafkabal or _OurPart()
    return PartitionChange(
        topic=p.topic,
        partition=p.partition,
        replicas=p.replicas,
        log_dirs=p.log_dirs or (ANY_DIR,) * len(p.replicas),
        action=ours.action,
        previous=ours.previous,
        bytes=ours.bytes,
        log_dir_bytes=ours.log_dir_bytes,
        reason=ours.reason,
    )
