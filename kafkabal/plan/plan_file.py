"""The plan file: JSON that Kafka's own tool takes as ``--reassignment-json-file``, with our part under ``kafkabal``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kafkabal.errors import InputFileError
from kafkabal.files import replacing
from kafkabal.plan.plan import ANY_DIR, PLAN_FORMAT, Action, PartitionChange, Placement, Plan, ScoreChange

_GZIP_MAGIC = b"\x1f\x8b"


class _OurPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    previous: Placement | None = None
    bytes: int = 0
    log_dir_bytes: int = 0
    action: Action = Action.MOVE
    reason: str = ""


class _PartitionEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...] | None = None
    kafkabal: _OurPart | None = None


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
    scores: dict[str, ScoreChange] = {}
    warnings: tuple[str, ...] = ()
    unrepaired: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class _PlanEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int = 1
    partitions: tuple[_PartitionEntry, ...]
    kafkabal: _PlanPart | None = None


class _Format(msgspec.Struct):
    plan_format: int | None = None


class _Versions(msgspec.Struct):
    version: int = 1
    kafkabal: _Format | None = None


def encode_plan(plan: Plan) -> bytes:
    """The plan as JSON, one partition a line, ending in a newline; equal plans give equal bytes."""
    return b"".join(_lines(plan))


def write_plan(plan: Plan, path: Path | str) -> None:
    """Write the plan file, gzipped where the name ends in ``.gz``; it appears whole or not at all.

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
        If it cannot be read, is no plan, is of a newer format, contradicts itself, or was edited so that its
        ``plan_id`` no longer fits.
    """
    data = _content(Path(path))
    _check_versions(path, data)
    entry = _decode(path, data)
    for p in entry.partitions:
        _check_partition(path, p)
    names = [(p.topic, p.partition) for p in entry.partitions]
    if len(set(names)) != len(names):
        topic, partition = next(n for n in names if names.count(n) > 1)
        raise InputFileError(path, f"duplicate partition: {topic}-{partition}")
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
        scores=dict(plan.scores),
        warnings=plan.warnings,
        unrepaired=plan.unrepaired or msgspec.UNSET,
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


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputFileError(path, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _check_versions(path: Path | str, data: bytes) -> None:
    try:
        found = msgspec.json.decode(data, type=_Versions)
    except msgspec.DecodeError as error:
        raise _malformed(path, data, error) from error
    if found.version != 1:
        raise InputFileError(path, f"reassignment JSON version {found.version} is not supported, only 1")
    plan_format = found.kafkabal.plan_format if found.kafkabal else None
    if plan_format is not None and plan_format > PLAN_FORMAT:
        raise InputFileError(
            path,
            f"plan format {plan_format} is not supported; this kafkabal reads formats up to {PLAN_FORMAT}",
            hint="use the version of kafkabal that made the plan, or a later one",
        )


def _decode(path: Path | str, data: bytes) -> _PlanEntry:
    try:
        return msgspec.json.decode(data, type=_PlanEntry)
    except msgspec.DecodeError as error:
        raise _malformed(path, data, error) from error


def _malformed(path: Path | str, data: bytes, error: msgspec.DecodeError) -> InputFileError:
    """Name the line where the text stopped making sense, or stopped."""
    message = str(error)
    _, _, position = message.partition("(byte ")
    end = int(position.rstrip(")")) if position else len(data) if "truncated" in message else None
    line = None if end is None else data[:end].count(b"\n") + 1
    return InputFileError(path, f"not a plan file: {message}", line=line)


def _check_partition(path: Path | str, p: _PartitionEntry) -> None:
    name = f"{p.topic}-{p.partition}"
    if p.partition < 0 or not p.replicas:
        raise InputFileError(path, f"{name}: no replicas" if p.partition >= 0 else f"{name}: invalid partition number")
    if len(set(p.replicas)) != len(p.replicas):
        raise InputFileError(path, f"{name}: duplicate broker")
    if p.log_dirs is not None and len(p.log_dirs) != len(p.replicas):
        raise InputFileError(path, f"{name}: {len(p.replicas)} replicas but {len(p.log_dirs)} log_dirs")
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
        scores=ours.scores,
        warnings=ours.warnings,
        unrepaired=() if ours.unrepaired is msgspec.UNSET else ours.unrepaired,
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
