"""Chooses the log dir of every arriving replica, and balances the log dirs of each broker.

Arriving replicas go, the largest first, to the dir of their broker that is least full afterwards. If a dir is still
outside its band, replicas are copied to other dirs of the broker: arriving ones first, which costs nothing, then the
replicas nearest in size to the excess.

::

    for each arrival, the largest first: the dir of its broker that is least full once it has come
    for each broker with several dirs
        if it has few replicas: the cheapest set of up to three copies that is enough     (reduce_log_dir_copies.py)
        while one is outside its band, or beyond the limit of its volume although its broker has room
        from the dir that is furthest above to the one that is least full: the replica that takes most out of what is
        outside, arrivals for nothing, others at a price of a twentieth of their bytes; a replica that takes out less
        than its price stays, unless both dirs are inside their bands after it
        if there is none: the same from that dir to any other, in exchange for a smaller replica
        if it has few replicas: trades of up to three of them that save bytes     (reduce_log_dir_copies.py)

Source: largest processing time first (R. L. Graham, SIAM J. Appl. Math. 17, 1969), then descent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.model import (
    F64,
    I32,
    I64,
    UNLIMITED,
    Bools,
    ClusterState,
    LogDirState,
    freeze,
    has_offline_dir,
    most_load_of_dirs,
    volume_headroom_bytes,
    with_choosable_log_dir,
)
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.reduce_log_dir_copies import DirsOfBroker, best_trade
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import DiskBand, due_within_groups, load_score

LOG_DIR = load_score("log-dir")
_PRICE = 20
"""Bytes copied to another dir count as this fraction of bytes outside the bands."""


class LogDirAssignment:
    """Log dir of every position, with the bytes in each dir."""

    def __init__(self, solution: Solution) -> None:
        problem = solution.problem
        state = problem.state
        dirs = state.log_dirs
        self.solution = solution
        self.first: I64 = dirs.first
        self.n_dirs: I64 = np.diff(dirs.first)
        position = np.arange(problem.width)
        own = state.partitions.first[:-1, None] + np.minimum(position, state.replication_factor[:, None] - 1)
        self.previous: I32 = np.where(problem.previous >= 0, state.replicas.log_dir[own], NONE)
        self.dir: I32 = np.where(solution.stays(), self.previous, NONE)
        self.capacity: F64 = LOG_DIR.capacity(state)
        self.is_open: Bools = dirs.state == LogDirState.ONLINE
        self.has_offline_dir: Bools = has_offline_dir(state)
        self.is_choosable: Bools = with_choosable_log_dir(state)
        """shape (n_partitions,): False for partitions whose replicas go where their broker puts them."""
        self.counts: Bools = dirs.state != LogDirState.OFFLINE
        known = self.dir >= 0
        load = np.bincount(self.dir[known], problem.held_bytes[known].astype(np.float64), len(dirs))
        self.load: I64 = load.astype(np.int64)
        previous = np.bincount(
            self.previous[self.previous >= 0], problem.held_bytes[self.previous >= 0].astype(np.float64), len(dirs)
        )
        freed = previous.astype(np.int64) - self.load
        on_volume = np.bincount(dirs.volume, freed.astype(np.float64))
        headroom = volume_headroom_bytes(state, problem.options.log_dir_limit)
        self.room: I64 = np.where(self.is_open, headroom + on_volume[dirs.volume].astype(np.int64), 0)
        """shape (n_dirs,): bytes that may be added to each; below 0 if its volume stays beyond the limit."""
        self.volume: I32 = dirs.volume

    def put(self, p: I64, k: I64, target: I64, bytes_: I64) -> None:
        """Put arriving replicas into dirs."""
        self.dir[p, k] = target
        np.add.at(self.load, target, bytes_)
        self._take_room(target, bytes_)

    def take_out(self, p: int, k: int, bytes_: int) -> None:
        """Take a replica out of its dir; a replica on a dead broker is in none."""
        current = int(self.dir[p, k])
        self.dir[p, k] = NONE
        if current >= 0:
            self.load[current] -= bytes_
            self._take_room(np.array([current]), np.array([-bytes_]))

    def emptiest(self, broker: I32 | I64, bytes_: I64) -> I64:
        """Dir of each broker that is least full after receiving the bytes; -1 if none has room, or none is known."""
        if not len(self.load):
            return np.full(len(broker), NONE, np.int64)
        column = np.arange(int(self.n_dirs.max()))
        dirs = np.minimum(self.first[broker][:, None] + column, len(self.load) - 1)
        there = (column < self.n_dirs[broker][:, None]) & self.is_open[dirs]
        there &= self.room[dirs] >= bytes_[:, None]
        fullness = np.where(there, (self.load[dirs] + bytes_[:, None]) / self.capacity[dirs], np.inf)
        best = fullness.argmin(1)
        rows = np.arange(len(broker))
        return np.where(there[rows, best], dirs[rows, best], NONE)

    def most_room(self) -> I64:
        """int64, shape (n_brokers,): bytes of the largest replica that a dir of each broker can take.

        Where no dir is known, its broker chooses one.
        """
        room = np.where(self.n_dirs == 0, UNLIMITED, 0).astype(np.int64)
        rows = np.flatnonzero(self.is_open)
        np.maximum.at(room, self.solution.problem.state.log_dirs.broker[rows], self.room[rows])
        return room

    def shift(self, p: int, k: int, target: int, bytes_: int) -> None:
        """Move a replica to another dir of its broker."""
        current = int(self.dir[p, k])
        self.load[current] -= bytes_
        self.load[target] += bytes_
        self.dir[p, k] = target
        self._take_room(np.array([current, target]), np.array([-bytes_, bytes_]))

    def _take_room(self, target: I64, bytes_: I64) -> None:
        taken = np.bincount(self.volume[target], bytes_.astype(np.float64), int(self.volume.max(initial=-1)) + 1)
        self.room -= taken.astype(np.int64)[self.volume]


def choose_log_dirs(solution: Solution) -> tuple[I32, I64]:
    """Choose log dirs.

    Returns
    -------
    int32, shape (n_partitions, width)
        Row of the log dir of each position; -1 if unknown.
    int64, shape (n,)
        Cells of arriving replicas for which no dir of their broker has room.
    """
    assignment, left = assign_arrivals(solution)
    balance_log_dirs(assignment)
    return assignment.dir.copy(), left


def without_refused_log_dirs(state: ClusterState) -> ClusterState:
    """The state without the log dirs that Kafka does not let a client choose: a plan leaves them to the broker.

    The search assumes the emptiest one all the same: with an unknown log dir, an arrival on a broker that has an
    offline one would count as lost, and be moved again.
    """
    replicas = state.replicas
    is_refused = has_offline_dir(state)[replicas.broker] | ~with_choosable_log_dir(state)[replicas.partition]
    log_dir = np.where(is_refused, NONE, replicas.log_dir).astype(np.int32)
    freeze(log_dir)
    return state.replace(replicas=replace(replicas, log_dir=log_dir))


def assign_arrivals(solution: Solution) -> tuple[LogDirAssignment, I64]:
    """Put arriving replicas into dirs; also returns the cells for which no dir of their broker has room."""
    assignment = LogDirAssignment(solution)
    p, k = np.nonzero(solution.moved())
    broker = solution.placement[p, k]
    bytes_ = solution.problem.arriving_bytes[p]
    single = assignment.n_dirs[broker] == 1
    assignment.put(p[single], k[single], assignment.first[broker[single]], bytes_[single])
    several = assignment.n_dirs[broker] > 1
    p, k, broker, bytes_ = p[several], k[several], broker[several], bytes_[several]
    order = np.lexsort((p, -bytes_, broker))
    p, k, broker, bytes_ = p[order], k[order], broker[order], bytes_[order]
    turn = np.arange(len(broker)) - np.searchsorted(broker, broker)
    order = np.argsort(turn, kind="stable")
    ends = np.cumsum(np.bincount(turn)) if len(turn) else np.empty(0, np.int64)
    left = []
    for now in np.split(order, ends[:-1]) if len(order) else []:
        target = assignment.emptiest(broker[now], bytes_[now])
        found = target >= 0
        assignment.put(p[now][found], k[now][found], target[found], bytes_[now][found])
        left.append((p[now] * solution.width + k[now])[~found])
    return assignment, np.concatenate(left) if left else np.empty(0, np.int64)


def balance_log_dirs(assignment: LogDirAssignment) -> None:
    """If the plan is meant to, copy replicas between the dirs of each broker until every dir is inside its band or
    nothing helps."""
    problem = assignment.solution.problem
    if not problem.has_score("log-dir") or not problem.options.mode.balances_log_dirs:
        return
    several = np.flatnonzero(problem.counted & (assignment.n_dirs > 1) & ~assignment.has_offline_dir)
    if not several.size:
        return
    may = (problem.movable & assignment.is_choosable & ~assignment.solution.keeps_dead())[:, None]
    if problem.options.mode is Mode.ONLY_TO_NEW:
        # what does not go to a new broker stays where it is, log dir included
        may = may & assignment.solution.moved()
    p, k = np.nonzero((assignment.dir >= 0) & may & problem.size_known[:, None])
    broker = assignment.solution.placement[p, k]
    order = np.argsort(broker, kind="stable")
    p, k, broker = p[order], k[order], broker[order]
    first = np.searchsorted(broker, np.arange(problem.n_brokers + 1))
    most = _most(assignment)
    due = _due(assignment, most)
    for b in several:
        rows = slice(int(first[b]), int(first[b + 1]))
        _balance_broker(assignment, int(b), due, most, p[rows], k[rows])


def _most(assignment: LogDirAssignment) -> F64:
    """float64, shape (n_dirs,): most bytes that each dir may hold below the limit of its volume."""
    problem = assignment.solution.problem
    load = assignment.load.astype(np.float64)
    return most_load_of_dirs(problem.state.log_dirs, load, problem.rules.volume_limit_bytes)


def _due(assignment: LogDirAssignment, most: F64) -> F64:
    """float64, shape (n_dirs,): proportional to what dirs are due of the bytes of their broker."""
    problem = assignment.solution.problem
    stays = ~(problem.rules.movable & assignment.is_choosable)
    p, k = np.nonzero((assignment.dir >= 0) & stays[:, None])
    bytes_ = assignment.solution.load(p, k, assignment.solution.placement[p, k]).astype(np.float64)
    fixed = np.bincount(assignment.dir[p, k], bytes_, len(assignment.load)).astype(np.float64)
    load, dirs = assignment.load.astype(np.float64), problem.state.log_dirs
    return due_within_groups(assignment.capacity, assignment.counts, dirs.broker, load, fixed, most)


@dataclass(frozen=True, slots=True)
class _Broker:
    """The log dirs of a broker, and its replicas that may be in any of them."""

    assignment: LogDirAssignment
    dirs: I64
    """shape (n_dirs,): their rows."""
    low: I64
    """shape (n_dirs,): bytes at the lower edge of the band of each."""
    high: I64
    p: I64
    """shape (n_replicas,): rows of the partitions of its replicas."""
    k: I64
    """shape (n_replicas,): their positions."""
    bytes: I64
    has_arrived: Bools
    """shape (n_replicas,): copied to the broker anyway, so it may go to any dir for nothing."""

    @property
    def load(self) -> I64:
        """shape (n_dirs,): bytes in each dir."""
        return self.assignment.load[self.dirs]

    @property
    def room(self) -> I64:
        """shape (n_dirs,): bytes that may be added to each."""
        return self.assignment.room[self.dirs]

    @property
    def is_open(self) -> Bools:
        """shape (n_dirs,)."""
        return self.assignment.is_open[self.dirs]

    @property
    def current(self) -> I64:
        """shape (n_replicas,): index of the dir that each is in."""
        return np.asarray(self.assignment.dir[self.p, self.k] - self.dirs[0])

    @property
    def home(self) -> I64:
        """shape (n_replicas,): index of the dir that each was in; -1 for an arrival."""
        return np.where(self.has_arrived, NONE, self.assignment.previous[self.p, self.k] - self.dirs[0])

    @property
    def price(self) -> I64:
        """shape (n_replicas,): bytes outside the bands that a copy of each is worth."""
        return np.where(self.has_arrived, 0, self.bytes // _PRICE)

    def copy(self, copies: Iterable[tuple[int, int]]) -> None:
        """Copy replicas to dirs, both by index."""
        for i, target in copies:
            self.assignment.shift(int(self.p[i]), int(self.k[i]), int(self.dirs[target]), int(self.bytes[i]))


def _balance_broker(assignment: LogDirAssignment, number: int, due: F64, most: F64, p: I64, k: I64) -> None:
    solution = assignment.solution
    dirs = np.arange(assignment.first[number], assignment.first[number + 1])
    low, high = _band(assignment, dirs, due)
    if assignment.load[dirs].sum() <= most[dirs].sum():
        # a dir may be inside its band and beyond the limit of its volume
        high = np.minimum(high, np.floor(np.minimum(most[dirs], UNLIMITED)).astype(np.int64))
        low = np.minimum(low, high)
    bytes_ = solution.load(p, k, np.full(len(p), number))
    has_arrived = solution.placement[p, k] != solution.problem.previous[p, k]
    broker = _Broker(assignment, dirs, low, high, p, k, bytes_, has_arrived)
    _trade(broker)
    _copy_one_by_one(broker)
    _trade(broker)


def _trade(broker: _Broker) -> None:
    """Copy several replicas at once, if the broker has few, until that saves nothing."""
    for _ in range(len(broker.p)):
        current = DirsOfBroker(
            load=broker.load,
            low=broker.low,
            high=broker.high,
            room=broker.room,
            is_open=broker.is_open,
            bytes=broker.bytes,
            home=broker.home,
            current=broker.current,
        )
        trade = best_trade(current)
        if not trade:
            return
        broker.copy(trade)


def _copy_one_by_one(broker: _Broker) -> None:
    for _ in range(len(broker.p)):
        now = broker.load
        if not _outside(now, broker.low, broker.high).any():
            return
        broker.copy(_best_shift(broker) or _best_exchange(broker))
        if np.array_equal(broker.load, now):
            return


def _band(assignment: LogDirAssignment, dirs: I64, due: F64) -> tuple[I64, I64]:
    counts = assignment.counts[dirs]
    due_here = np.where(counts, due[dirs], 0.0)
    mean = float(assignment.load[dirs][counts].sum()) / max(float(due_here.sum()), 1.0)
    band = LOG_DIR.band
    assert isinstance(band, DiskBand)
    tolerance = assignment.solution.problem.options.tolerance
    low, high = band.edges_on(assignment.capacity[dirs], mean * due_here, tolerance)
    return np.ceil(low).astype(np.int64), np.floor(high).astype(np.int64)


def _best_shift(broker: _Broker) -> list[tuple[int, int]]:
    """The copy that removes most of what is outside the bands for the bytes that it costs; empty if there is none."""
    now, may = broker.load, broker.is_open
    donor = _donor(now, broker.low, broker.high)
    fullness = now / np.maximum(broker.high, 1)
    receiver = int(np.where(may & (np.arange(len(now)) != donor), fullness, np.inf).argmin())
    if receiver == donor or not may[receiver]:
        return []
    here = np.flatnonzero(broker.current == donor)
    here = here[broker.bytes[here] <= broker.room[receiver]]
    pair = [donor, receiver]
    gain, outside = _gain(now[pair], broker.low[pair], broker.high[pair], broker.bytes[here])
    best, _ = _cheapest(gain, outside, broker.price[here])
    return [] if best is None else [(int(here[best]), receiver)]


def _best_exchange(broker: _Broker) -> list[tuple[int, int]]:
    """The same for two replicas that change places, the larger one from the dir that gives; empty if there is none."""
    donor = _donor(broker.load, broker.low, broker.high)
    if not broker.is_open[donor]:
        return []
    others = [other for other in np.flatnonzero(broker.is_open).tolist() if other != donor]
    found = [exchange for other in others for exchange in _exchanges(broker, donor, other)]
    return min(found, key=lambda exchange: exchange[0], default=(np.inf, []))[1]


def _exchanges(broker: _Broker, donor: int, other: int) -> Iterator[tuple[float, list[tuple[int, int]]]]:
    """Up to two exchanges between two dirs, each with its net cost.

    The larger replica fits while the other one is still there, unless that only comes with the plan; so it waits for
    nothing.
    """
    now, low, high, bytes_ = broker.load, broker.low, broker.high, broker.bytes
    here, there = np.flatnonzero(broker.current == donor), np.flatnonzero(broker.current == other)
    if not here.size or not there.size:
        return
    there = there[np.argsort(bytes_[there], kind="stable")]
    volume = broker.assignment.volume[broker.dirs]
    comes = np.where(broker.home != broker.current, bytes_, 0)
    freed = bytes_[here] if volume[donor] != volume[other] else 0
    pair = [donor, other]
    # what should pass from one dir to the other: half of what both are from the middles of their bands
    middle = (low[pair] + high[pair]) // 2
    passes = int((now[donor] - middle[0] + middle[1] - now[other]) // 2)
    nearest = np.searchsorted(bytes_[there], bytes_[here] - passes)
    for index in (nearest - 1, nearest):
        back = there[np.clip(index, 0, len(there) - 1)]
        fits = (bytes_[here] <= broker.room[other] + comes[back]) & (bytes_[back] <= broker.room[donor] + freed)
        gain, outside = _gain(now[pair], low[pair], high[pair], bytes_[here] - bytes_[back])
        gain[~fits] = 0
        best, cost = _cheapest(gain, outside, broker.price[here] + broker.price[back])
        if best is not None:
            yield cost, [(int(here[best]), other), (int(back[best]), donor)]


def _donor(now: I64, low: I64, high: I64) -> int:
    """The dir furthest above its band; if none has an excess, one lacks bytes, and the fullest dir gives."""
    donor = int((now - high).argmax())
    return donor if now[donor] > high[donor] else int((now - low).argmax())


def _gain(now: I64, low: I64, high: I64, bytes_: I64) -> tuple[I64, I64]:
    """How bytes that pass from the first dir to the second change what is outside their bands, and what then is."""
    outside = _outside(now[0] - bytes_, low[0], high[0]) + _outside(now[1] + bytes_, low[1], high[1])
    return outside - _outside(now, low, high).sum(), outside


def _cheapest(gain: I64, outside: I64, price: I64) -> tuple[int | None, float]:
    """The step with the best gain net of its price, and what that is; None if none is worth it."""
    cost = gain + price
    # a copy that gains less than it costs is worth it only if it is the last one
    useful = np.flatnonzero((gain < 0) & ((cost < 0) | (outside == 0)))
    if not useful.size:
        return None, np.inf
    best = int(useful[cost[useful].argmin()])
    return best, float(cost[best])


def _outside(load: I64, low: I64 | int, high: I64 | int) -> I64:
    return np.asarray(np.maximum(load - high, 0) + np.maximum(low - load, 0))
