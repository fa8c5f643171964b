"""Hypothetical clusters, with brokers added or removed: planned for and shown, never applied."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import F64, I32, I64, Brokers, ClusterState, LogDirs, broker_capacity_bytes, freeze
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.units import parse_bytes, parse_whole_number

_ADD = re.compile(r"add=(?P<id>\d+)(?::(?P<rack>[^:]*))?(?::(?P<bytes>[^:]+))?", re.ASCII)
_REMOVE = re.compile(r"remove=(?P<ids>\d+(?:,\d+)*)", re.ASCII)
_PATH = "/what-if"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBroker:
    """A broker that does not exist."""

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    """None for the capacity of the largest broker; unknown if that of no broker is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Brokers to add and to remove."""

    add: tuple[NewBroker, ...] = ()
    remove: frozenset[int] = frozenset()
    """Brokers to drain."""


def parse_what_if(texts: Iterable[str], mode: Mode) -> WhatIf:
    """Read ``add=7:r1:4TiB`` (rack and size may be left out) and ``remove=3``.

    Raises
    ------
    UsageError
        If a text is neither, a broker is added twice, or the mode of the plan allows no removal.
    """
    add: list[NewBroker] = []
    remove: set[int] = set()
    for text in texts:
        if found := _ADD.fullmatch(text):
            capacity = _capacity(found["bytes"])
            add.append(NewBroker(id=_broker(found["id"]), rack=found["rack"] or None, capacity_bytes=capacity))
        elif found := _REMOVE.fullmatch(text):
            remove.update(map(_broker, found["ids"].split(",")))
        else:
            raise UsageError(f"--what-if: invalid change: {text!r}", hint="write it like add=7:r1:4TiB or remove=3")
    twice = [id_ for id_, times in Counter(broker.id for broker in add).items() if times > 1]
    if twice:
        raise UsageError(f"--what-if add={twice[0]}: duplicate broker: {twice[0]}", hint="choose another id")
    if remove and not mode.moves_replicas:
        raise UsageError(f"--{mode} and --what-if remove cannot be combined: no replica may move")
    return WhatIf(add=tuple(add), remove=frozenset(remove))


def _broker(digits: str) -> int:
    try:
        return parse_whole_number(digits, 0, 2**31 - 1)
    except UsageError:
        raise UsageError(f"--what-if: invalid broker id: {digits[:20]}") from None


def _capacity(size: str | None) -> int | None:
    try:
        return parse_bytes(size) if size else None
    except UsageError as error:
        raise UsageError(f"--what-if: {error.message}", hint=error.hint) from None


def suppose(state: ClusterState, options: PlanOptions, what_if: WhatIf) -> tuple[ClusterState, PlanOptions]:
    """The cluster and the options, with brokers added and removed as given.

    Raises
    ------
    UsageError
        If an added broker already exists, or a removed one does not.
    """
    grown = with_brokers(state, what_if.add)
    strange = [i for i in sorted(what_if.remove) if grown.brokers.index_of(i) < 0]
    if strange:
        raise UsageError(f"--what-if remove={strange[0]}: unknown broker: {strange[0]}", hint="see 'kafkabal inspect'")
    return grown, replace(options, drain=options.drain | what_if.remove)


def with_brokers(state: ClusterState, added: tuple[NewBroker, ...]) -> ClusterState:
    """The cluster with empty brokers added, one log dir each.

    Raises
    ------
    UsageError
        If a broker already exists, or is added twice.
    """
    if not added:
        return state
    ids = [b.id for b in added]
    known = [i for i in ids if state.brokers.index_of(i) >= 0 or ids.count(i) > 1]
    if known:
        raise UsageError(f"--what-if add={known[0]}: broker {known[0]} already exists", hint="choose another id")
    racks = tuple(sorted({*state.racks, *(b.rack for b in added if b.rack is not None)}))
    order = np.argsort(np.concatenate((state.brokers.id, np.array(ids, np.int32))), kind="stable")
    row_of = np.empty(len(order), np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    dirs, dir_row_of = _log_dirs(state, added, order, row_of)
    return _renumbered(state, row_of, dir_row_of).replace(
        racks=racks,
        brokers=_brokers(state, added, racks, order),
        log_dirs=dirs,
        measured={name: _with_unknown(figures, len(added), order) for name, figures in state.measured.items()},
    )


def _with_unknown(measured: F64, n: int, order: I64) -> F64:
    """A measurement of the brokers, unknown for the new ones."""
    figures = np.concatenate((measured, np.full(n, np.nan)))[order]
    freeze(figures)
    return figures


def _brokers(state: ClusterState, added: tuple[NewBroker, ...], racks: tuple[str, ...], order: I64) -> Brokers:
    old = state.brokers
    names = [state.racks[r] if r >= 0 else None for r in old.rack.tolist()] + [b.rack for b in added]
    number = {rack: i for i, rack in enumerate(racks)}
    hosts = [*old.host, *("" for _ in added)]
    n = len(added)
    table = Brokers(
        id=np.concatenate((old.id, np.array([b.id for b in added], np.int32)))[order],
        rack=np.array([-1 if name is None else number[name] for name in names], np.int32)[order],
        state=np.concatenate((old.state, np.zeros(n, np.int8)))[order],
        host=tuple(hosts[i] for i in order.tolist()),
        port=np.concatenate((old.port, np.full(n, -1, np.int32)))[order],
    )
    freeze(table.id, table.rack, table.state, table.port)
    return table


def _log_dirs(state: ClusterState, added: tuple[NewBroker, ...], order: I64, row_of: I32) -> tuple[LogDirs, I32]:
    old = state.log_dirs
    totals = broker_capacity_bytes(state)
    largest = int(totals[~np.isnan(totals)].max(initial=-1))
    capacity = np.array([largest if b.capacity_bytes is None else b.capacity_bytes for b in added], np.int64)
    n, n_volumes = len(added), int(old.volume.max(initial=-1)) + 1
    broker = row_of[np.concatenate((old.broker, np.arange(n, dtype=np.int32) + len(state.brokers)))]
    dir_order = np.argsort(broker, kind="stable")
    dir_row_of = np.empty(len(dir_order), np.int32)
    dir_row_of[dir_order] = np.arange(len(dir_order), dtype=np.int32)
    paths = [*old.path, *(_PATH for _ in added)]
    table = LogDirs(
        broker=broker[dir_order],
        path=tuple(paths[i] for i in dir_order.tolist()),
        total_bytes=np.concatenate((old.total_bytes, capacity))[dir_order],
        usable_bytes=np.concatenate((old.usable_bytes, capacity))[dir_order],
        state=np.concatenate((old.state, np.zeros(n, np.int8)))[dir_order],
        volume=np.concatenate((old.volume, np.arange(n, dtype=np.int32) + n_volumes))[dir_order],
        first=np.searchsorted(broker[dir_order], np.arange(len(order) + 1)).astype(np.int64),
    )
    freeze(table.broker, table.total_bytes, table.usable_bytes, table.state, table.volume, table.first)
    return table, dir_row_of


def _renumbered(state: ClusterState, row_of: I32, dir_row_of: I32) -> ClusterState:
    """Map brokers and log dirs to their new rows."""

    def follow(rows: I32, to: I32) -> I32:
        moved = np.where(rows >= 0, to[rows], -1).astype(np.int32)
        freeze(moved)
        return moved

    p, r, f = state.partitions, state.replicas, state.futures
    return state.replace(
        partitions=replace(p, leader=follow(p.leader, row_of)),
        replicas=replace(r, broker=follow(r.broker, row_of), log_dir=follow(r.log_dir, dir_row_of)),
        futures=replace(f, log_dir=follow(f.log_dir, dir_row_of)),
    )
