"""Throttles of a run on the cluster: records original values, sets throttles where needed, and restores the values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kafkabal.clusters import (
    Clock,
    Cluster,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    Fault,
    ResourceKind,
)
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.reassign.partition_task import LONGEST_LAG_S, PartitionTask
from kafkabal.executor.run_events import RunListener, Trouble, Warned
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.safety.fenced_requests import FencedRequests
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.executor.state.run_states import Goal
from kafkabal.executor.state.run_store import RunStore
from kafkabal.executor.state.set_configs import SetConfig, SetConfigs
from kafkabal.executor.throttle.throttle_rules import (
    LIST_KEYS,
    RATE_KEYS,
    TOPIC_IS_GONE,
    ListSteps,
    active_entries,
    is_shown,
    list_entries,
    list_steps,
    rate_to_set,
    restore_rate,
    shown_entries,
    with_entries_of_others,
)
from kafkabal.model import FOLLOWER_RATE, LEADER_RATE, LOG_DIR_RATE, TopicPartition
from kafkabal.wording import first_of

Entries = dict[str, set[str]]
"""Entries of throttled replicas, by key."""


_UNREACHABLE = "unreachable"
_LAG_POLL_S = 1.0
"""Brokers usually show a change within a second, and a reading of their configs takes milliseconds: a shorter pause
would save a run less than a second."""
_SLOW_S = 5.0
"""A lag that lasts longer is reported, well before :data:`LONGEST_LAG_S` ends the wait."""
_IN_TRANSIT_S = 10.0
"""How long a request of a process that was killed as it sent it may still take effect: a broker that does not get to it
sooner loses its session with the controller (``broker.session.timeout.ms``, 9 s)."""
_NO_ENTRIES: Mapping[str, frozenset[str]] = dict.fromkeys(LIST_KEYS, frozenset())


@dataclass(slots=True)
class Leftovers:
    """What could not be restored."""

    pending: list[str] = field(default_factory=list)
    """Throttles of ours that are still set, and why."""
    complaints: list[str] = field(default_factory=list)
    """Values that another user has changed meanwhile, and that stay."""


@dataclass(slots=True)
class _ListChanges:
    """Changes of lists in two requests, additions first, since one request may name a key only once."""

    first: list[ConfigChange] = field(default_factory=list)
    second: list[ConfigChange] = field(default_factory=list)
    steps: list[tuple[ConfigResource, str, ListSteps]] = field(default_factory=list)

    def take(self, resource: ConfigResource, key: str, steps: ListSteps) -> None:
        """Add the steps that change one list."""
        self.steps.append((resource, key, steps))
        if steps.added:
            self.first.append(ConfigChange(resource, key, ",".join(steps.added), ConfigOperation.APPEND))
        later = self.second if steps.added else self.first
        if steps.is_deleted:
            later.append(ConfigChange(resource, key, None))
        elif steps.removed:
            later.append(ConfigChange(resource, key, ",".join(steps.removed), ConfigOperation.SUBTRACT))

    def send(self, effects: FencedRequests) -> dict[ConfigResource, Fault]:
        """Send both requests; returns the topics that failed."""
        return effects.alter_configs(self.first) | effects.alter_configs(self.second)


class RunThrottles:
    """Sets and restores the throttles of one run."""

    def __init__(
        self,
        cluster: Cluster,
        effects: FencedRequests,
        store: RunStore,
        throttle: Throttle,
        listener: RunListener,
        clock: Clock,
    ) -> None:
        record, state = store.record, store.state
        self._cluster = cluster
        self._clock = clock
        self._effects = effects
        self._store = store
        self._state = state
        self._listener = listener
        self._reported: set[str] = set()
        """Messages already given about values that another user has set."""
        self._throttle = state.throttle or throttle
        known = (*record.originals, *state.later_originals)
        self._originals = {(o.of, o.key): o for o in known}
        self._ours = entries_by_topic(record.partitions)
        self._listed: dict[ConfigResource, Entries | None] = dict.fromkeys(self._ours) if known else {}
        """Entries of ours that each topic has; None if unknown. Without originals we never set any."""
        later = {o.of for o in state.later_originals}
        self._not_added = {
            topic: {key: set(entries) for key, entries in ours.items()}
            for topic, ours in self._ours.items()
            if not state.openings and topic not in later
        }
        """Entries that certainly neither this run nor one that it took over has added yet."""
        self._set: defaultdict[ConfigResource, Entries] = defaultdict(lambda: defaultdict(set))
        """Entries that this process has set and not yet removed, and rates that it has set and not seen since. Brokers
        that are busy with the moves show them late: what is not shown is not known to be gone."""
        self._set_at_s: dict[tuple[ConfigResource, str], float] = {}
        """When this process has last set anything in a config."""
        self._may_be_set = bool(state.rates)
        """Whether throttles that an earlier process of the run has set may still be there."""

    def await_earlier(self, set_configs: SetConfigs) -> None:
        """Wait also for what an earlier process of the run has set, if brokers may not show it yet.

        Otherwise a run that is cancelled right after its process was killed would find nothing to restore.
        """
        now, now_s = self._clock.utc_now(), self._clock.monotonic()
        for resource, key in self._originals:
            earlier = set_configs.get((str(resource), key), SetConfig())
            known = self._ours.get(resource, _NO_ENTRIES)[key] if key in LIST_KEYS else self._state.rates
            if (ours := earlier.values & known) and (age_s := earlier.age_s(now)) < LONGEST_LAG_S:
                self._set[resource][key] |= ours
                self._set_at_s[resource, key] = now_s - age_s

    @property
    def originals(self) -> Collection[Original]:
        """Every config as it was before this run, or before the run that it took over from."""
        return self._originals.values()

    @property
    def throttle(self) -> Throttle:
        """The current throttle."""
        return self._throttle

    @property
    def rate(self) -> int | None:
        """Bytes per second between brokers, per broker in each direction; None without a throttle."""
        return self._throttle.bytes_per_s

    def change(self, throttle: Throttle, asked_at: str | None = None) -> None:
        """Continue with another throttle, even after a crash and on other hosts; the next turn sets it.

        Parameters
        ----------
        asked_at
            Time of the request that asks for it, if one does.
        """
        self._throttle = throttle
        self._store.keep_throttle(throttle, self._state.asked_at if asked_at is None else asked_at)

    def cover(
        self, starting: Collection[PartitionTask], running: Collection[PartitionTask], responding: frozenset[int]
    ) -> dict[PartitionTask, str]:
        """Throttle every replica that moves or is about to move, and no other.

        Current values are read each time: Kafka's own tool clears the rates of all brokers at ``--verify`` and
        ``--cancel``, and copies run at full speed until that is noticed.

        Returns
        -------
        dict
            Tasks that must not start, with the reason.
        """
        # none of our entries is sure to be there, or to be gone; topics to which none was added yet are not read
        self._listed = {topic: {} if entries is not None else None for topic, entries in self._listed.items()}
        self._lift()
        # rates before lists: an entry takes effect at once, at whatever rate the broker has at that moment
        no_response = self._settle_rates(self._rates_for((*starting, *running), responding))
        refused = {t: no_response[b] for t in starting for b in (t.leader, *t.to_add, *t.misplaced) if b in no_response}
        if self.rate is not None:
            covered = [t for t in starting if t not in refused]
            faults = self._settle_lists(self._active(covered, running))
            refused |= {t: str(faults[r]) for t in covered if (r := _topic(t.name.topic)) in faults}
        return refused

    def _lift(self) -> None:
        """Restore what an earlier process has set and this throttle does not: it would slow copies until the end.

        What cannot be restored now is restored, or reported, at the end.
        """
        if not self._may_be_set:
            return
        self._may_be_set = False
        if self.rate is None:
            self._restore_lists((), Leftovers())
            self._restore_rates(Leftovers(), (LEADER_RATE, FOLLOWER_RATE))
        if self._throttle.log_dir_bytes_per_s is None:
            self._restore_rates(Leftovers(), (LOG_DIR_RATE,))

    def restore(self, still_running: Collection[TopicPartition] = ()) -> Leftovers:
        """Restore every config as found; list entries and rates that partitions in flight need stay."""
        left = Leftovers()
        # lists before rates: if this process dies in between, a rate without entries throttles nothing
        self._restore_lists(still_running, left)
        if still_running:
            left.pending += [f"the throttle of {name}, still in flight" for name in sorted(still_running)]
            self._restore_rates_beside(still_running)
        else:
            self._restore_rates(left)
        return left

    def _restore_rates_beside(self, still_running: Collection[TopicPartition]) -> None:
        """Restore rates that no partition still in flight needs; it may wait for days, and one between log dirs limits
        every such copy of its broker.

        What fails is not named: it is restored together with the rest, and until then a later run may take that over.
        """
        partitions = [p for p in self._store.record.partitions if p.name in still_running]
        with_copies = {_broker(b) for p in partitions for b in p.brokers}
        goal = self._state.goal
        # a run that is cancelled was on its way to either
        ends = [p.target_dirs for p in partitions if goal is not Goal.ROLL_BACK]
        ends += [p.previous_dirs for p in partitions if goal is not Goal.APPLY]
        with_chosen_dirs = {_broker(b) for dirs in ends for b in dirs}
        self._restore_rates(Leftovers(), (LEADER_RATE, FOLLOWER_RATE), except_of=with_copies)
        self._restore_rates(Leftovers(), (LOG_DIR_RATE,), except_of=with_chosen_dirs)

    def _rates_for(
        self, tasks: Iterable[PartitionTask], responding: frozenset[int]
    ) -> dict[tuple[ConfigResource, str], int]:
        """Rates for these tasks, on brokers that respond."""
        rates: dict[tuple[ConfigResource, str], int] = {}
        rate, log_dir_rate = self.rate, self._throttle.log_dir_bytes_per_s
        for task in tasks:
            arriving = task.arriving if task.is_running else task.to_add
            if rate is not None and arriving:
                rates |= {(_broker(b), LEADER_RATE): rate for b in task.current if b not in arriving}
                rates |= {(_broker(b), FOLLOWER_RATE): rate for b in arriving}
            if log_dir_rate is not None:
                rates |= {(_broker(b), LOG_DIR_RATE): log_dir_rate for b in task.misplaced}
        return {at: v for at, v in rates.items() if int(at[0].name) in responding}

    def _settle_rates(self, rates: Mapping[tuple[ConfigResource, str], int]) -> dict[int, str]:
        """Set rates; returns the brokers on which that failed, with the reason."""
        if not rates:
            return {}
        current, faults = self._read({resource for resource, _ in rates}, RATE_KEYS)
        self._note_shown_rates(current)
        changes = []
        for (resource, key), rate in sorted(rates.items()):
            if resource not in faults:
                changes += self._rate_change(resource, key, rate, current[resource].get(key))
        self._store.announce_rates({c.value for c in changes if c.value is not None})
        faults |= self._effects.alter_configs(changes)
        for change in changes:
            if change.resource not in faults:
                self._note_set(change.resource, change.key)
                self._set[change.resource][change.key] = set() if change.value is None else {change.value}
        _refuse_denied(faults)
        return {int(resource.name): str(fault) for resource, fault in faults.items()}

    def _note_shown_rates(self, current: Mapping[ConfigResource, Mapping[str, ConfigValue]]) -> None:
        """Wait no more for rates that a broker has shown since they were set: it does not return to an earlier state,
        so if it shows them no longer, another tool has removed them."""
        for resource, values in current.items():
            for key, value in values.items():
                if value.source is ConfigSource.OWN and value.value in self._set[resource][key]:
                    self._set[resource][key].clear()

    def _note_set(self, resource: ConfigResource, key: str) -> None:
        self._set_at_s[resource, key] = self._clock.monotonic()

    def _rate_change(
        self, resource: ConfigResource, key: str, rate: int, current: ConfigValue | None
    ) -> list[ConfigChange]:
        """At most one change; a value that another user has set meanwhile stays, and is reported once."""
        original = self._originals[resource, key]
        own = current.value if current is not None and current.source is ConfigSource.OWN else None
        # a rate that another tool deletes, as Kafka's does at the end of its own moves, is not restored after the run,
        # but set again while the run copies
        if own is None and original.own_value is not None:
            self._report_once(
                f"{key} of {resource}: earlier value {original.own_value} deleted by another tool; not restored"
            )
        # the same for a changed default: an earlier, lower one that the run has kept no longer limits its copies
        if own is None and (found := Original.found(resource, key, current)) != original:
            self._keep_originals([original := found])
        # neither the original value nor one of ours: an operator has set it deliberately during the run
        if own != original.own_value and own not in self._state.rates:
            self._report_once(f"{key} of {resource}: set to {own} by another tool; left unchanged")
            return []
        value = rate_to_set(original, rate, override=self._throttle.override) or original.own_value
        return [] if value == own else [ConfigChange(resource, key, value)]

    def _report_once(self, complaint: str) -> None:
        if complaint not in self._reported:
            self._reported.add(complaint)
            self._listener.on_event(Warned(message=complaint))

    def _settle_lists(self, active: Mapping[ConfigResource, Entries]) -> dict[ConfigResource, Fault]:
        """Bring the lists of topics to the active entries; returns the topics that failed."""
        topics = {r for r in active.keys() | self._listed.keys() if self._listed.get(r, {}) != active.get(r)}
        if not topics:
            return {}
        current, faults = self._read(topics, LIST_KEYS)
        # unknown until the answer arrives: a request whose answer is lost may have been executed, and is sent again
        self._listed |= dict.fromkeys(topics)
        self._keep_entries_of_others(current)
        changes = _ListChanges()
        for resource in sorted(current):
            entries = active.get(resource, _NO_ENTRIES)
            self._note_added(resource, entries)
            self._list_changes(changes, resource, current[resource], self._ours[resource], entries)
        faults |= self._send(changes)
        for resource in topics - faults.keys():
            if resource in active:
                self._listed[resource] = active[resource]
            elif not self._has_set(resource):
                del self._listed[resource]
        _refuse_denied(faults)
        return self._without_deleted(faults)

    def _keep_entries_of_others(self, current: Mapping[ConfigResource, Mapping[str, ConfigValue]]) -> None:
        """Record as found all entries that are listed before we have added them: they belong to another tool."""
        new = []
        for resource in sorted(current.keys() & self._not_added.keys()):
            for key, not_added in self._not_added[resource].items():
                joined = with_entries_of_others(self._originals[resource, key], current[resource].get(key), not_added)
                new += [joined] if joined is not None else []
        self._keep_originals(new)

    def _note_added(self, resource: ConfigResource, entries: Mapping[str, Collection[str]]) -> None:
        for key, not_added in self._not_added.get(resource, {}).items():
            not_added -= set(entries[key])

    def _active(
        self, starting: Iterable[PartitionTask], running: Iterable[PartitionTask]
    ) -> dict[ConfigResource, Entries]:
        """Entries that are needed now, by topic.

        If another tool moves a partition at the same moment as the run, Kafka lists its brokers as well. They are left
        out: only entries that follow from the plan are known to be the run's own, and removed again.
        """
        active: defaultdict[ConfigResource, Entries] = defaultdict(lambda: {key: set() for key in LIST_KEYS})
        for task in (*starting, *running):
            arriving = task.arriving if task.is_running else task.to_add
            # no throttle delays a replica in sync, but its traffic counts against the rate of copies that are not
            if arriving and not task.is_copied:
                topic = _topic(task.name.topic)
                for key, entries in active_entries(task.name.partition, task.current, arriving).items():
                    active[topic][key] |= entries & self._ours[topic][key]
        return dict(active)

    def _restore_lists(self, still_running: Collection[TopicPartition], left: Leftovers) -> None:
        if not self._listed:
            return
        # entries removed here are no longer there for moves that start after a pause
        self._listed = dict.fromkeys(self._listed)
        current, faults = self._read_as_set(self._listed.keys(), LIST_KEYS)
        changes = _ListChanges()
        for resource in sorted(current):
            stays = tuple(f"{name.partition}:" for name in still_running if name.topic == resource.name)
            ours = {key: {e for e in es if not e.startswith(stays)} for key, es in self._ours[resource].items()}
            self._list_changes(changes, resource, current[resource], ours, _NO_ENTRIES)
            for key, entries in ours.items():
                self._set[resource][key] -= entries  # what another tool has removed is waited for once
        faults |= self._send(changes)
        faults = self._without_deleted(faults)
        left.pending += [f"throttled replicas of {resource}: {fault}" for resource, fault in faults.items()]

    def _list_changes(
        self,
        changes: _ListChanges,
        resource: ConfigResource,
        current: Mapping[str, ConfigValue],
        ours: Mapping[str, Collection[str]],
        active: Mapping[str, Collection[str]],
    ) -> None:
        for key in LIST_KEYS:
            steps = list_steps(self._originals[resource, key], current.get(key), ours[key], active[key])
            changes.take(resource, key, steps)

    def _send(self, changes: _ListChanges) -> dict[ConfigResource, Fault]:
        """Change lists; returns the topics that failed."""
        faults = changes.send(self._effects)
        for resource, key, steps in changes.steps:
            if resource not in faults:
                if steps.added:
                    self._note_set(resource, key)
                self._set[resource][key] |= set(steps.added)
                self._set[resource][key] -= set(steps.removed)
        return faults

    def _has_set(self, resource: ConfigResource) -> bool:
        return any(self._set[resource].values())

    def _read_as_set(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], dict[ConfigResource, Fault]]:
        """Read configs again until they show what this process has set, or another tool must have removed it.

        Taken at their first word, brokers that lag would show nothing to restore, and the throttles would stay. What
        was never sent, because the process was killed before that, or was removed since, looks the same. So it is set
        again after a while: brokers that do not lag show that at once, and then it can be removed.
        """
        began_s, is_announced = self._clock.monotonic(), False
        set_again: set[tuple[ConfigResource, str]] = set()
        while True:
            current, faults = self._read(resources, keys)
            unshown = self._unshown(current, keys)
            if recreated := self._recreated({resource for resource, _ in unshown}):
                resources = set(resources) - recreated
                continue
            now_s = self._clock.monotonic()
            # counted from when it was set: what was set earlier than the longest lag is gone, not late
            left_s = max((self._set_at_s[at] for at in unshown), default=now_s) + LONGEST_LAG_S - now_s
            if not unshown or left_s <= 0:
                return current, faults
            if now_s - began_s >= _SLOW_S and not is_announced:
                self._listener.on_event(_not_shown_yet(unshown, since_s=now_s - began_s, left_s=left_s))
                is_announced = True
            overdue = [at for at in unshown if now_s - self._set_at_s[at] >= _IN_TRANSIT_S and at not in set_again]
            set_again |= {*overdue}
            self._set_again(overdue, current)
            self._clock.sleep(_LAG_POLL_S)

    def _unshown(
        self, current: Mapping[ConfigResource, Mapping[str, ConfigValue]], keys: Collection[str]
    ) -> list[tuple[ConfigResource, str]]:
        return [
            (resource, key)
            for resource, values in sorted(current.items())
            for key in keys
            if not is_shown(values.get(key), self._originals[resource, key], self._set[resource][key])
        ]

    def _recreated(self, resources: Collection[ConfigResource]) -> set[ConfigResource]:
        """Topics that were deleted and created again under their names: what the run had set is gone with the former
        topic, and the new one is none of its business."""
        topics = {resource.name for resource in resources if resource.kind is ResourceKind.TOPIC}
        if not topics:
            return set()
        found = {name.topic: status.topic_id for name, status in self._cluster.partition_status(topics).items()}
        former = {p.topic: p.topic_id for p in self._store.record.partitions if p.topic_id}
        recreated = {_topic(t) for t in topics if found.get(t) and found[t] != former.get(t, found[t])}
        for resource in recreated:
            self._set.pop(resource, None)
            self._listed.pop(resource, None)
        return recreated

    def _set_again(
        self,
        overdue: Collection[tuple[ConfigResource, str]],
        current: Mapping[ConfigResource, Mapping[str, ConfigValue]],
    ) -> None:
        """Set what brokers do not show; what is there already stays as it is."""
        changes = []
        for resource, key in overdue:
            missing = sorted(self._set[resource][key] - shown_entries(current[resource].get(key)))
            operation = ConfigOperation.APPEND if key in LIST_KEYS else ConfigOperation.SET
            changes.append(ConfigChange(resource, key, ",".join(missing), operation))
        faults = self._effects.alter_configs(changes)
        for resource, key in overdue:
            if resource not in faults:
                self._note_set(resource, key)

    def _without_deleted(self, faults: Mapping[ConfigResource, Fault]) -> dict[ConfigResource, Fault]:
        """Drop faults of deleted topics: a topic takes its throttle with it."""
        for resource in [r for r, fault in faults.items() if fault.name == TOPIC_IS_GONE]:
            self._listed.pop(resource, None)
        return {r: fault for r, fault in faults.items() if fault.name != TOPIC_IS_GONE}

    def _restore_rates(
        self, left: Leftovers, keys: Collection[str] = RATE_KEYS, *, except_of: Collection[ConfigResource] = ()
    ) -> None:
        of_brokers = [o for o in self._originals.values() if o.kind is ResourceKind.BROKER and o.key in keys]
        originals = [o for o in of_brokers if o.of not in except_of]
        brokers = {o.of for o in originals} if self._state.rates else set()
        current, faults = self._read_as_set(brokers, RATE_KEYS) if brokers else ({}, {})
        # a dead broker reports nothing, but controllers, if given, accept configs for it
        unread = {resource for resource, fault in faults.items() if fault.name == _UNREACHABLE}
        changes = [ConfigChange(o.of, o.key, o.own_value) for o in originals if o.of in unread]
        for original in originals:
            if original.of in current:
                put = restore_rate(original, current[original.of].get(original.key), self._state.rates)
                changes += [ConfigChange(original.of, original.key, put.value)] if put.is_needed else []
                complaint = f"{original.key} of {original.of}: {put.complaint}"
                left.complaints += [complaint] if put.complaint and complaint not in self._reported else []
                self._set[original.of][original.key].clear()
        failed = {r: fault for r, fault in faults.items() if r not in unread} | self._effects.alter_configs(changes)
        left.pending += [f"replication rates of {resource}: {why}" for resource, why in failed.items()]

    def _read(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], dict[ConfigResource, Fault]]:
        """Read configs, and record as original what is read for the first time."""
        current, faults = self._cluster.configs(resources, keys)
        new = [
            Original.found(resource, key, values.get(key))
            for resource, values in sorted(current.items())
            for key in keys
            if (resource, key) not in self._originals
        ]
        self._keep_originals(new)
        return current, dict(faults)

    def _keep_originals(self, originals: Collection[Original]) -> None:
        self._store.keep_originals(originals)
        self._originals |= {(o.of, o.key): o for o in originals}


def _not_shown_yet(unshown: Sequence[tuple[ConfigResource, str]], *, since_s: float, left_s: float) -> Trouble:
    where = first_of(sorted({str(resource) for resource, _ in unshown}))
    error = f"brokers do not show the throttle of {where} yet"
    return Trouble(error=error, since_s=since_s, next_try_s=_LAG_POLL_S, give_up_s=left_s)


def read_originals(
    cluster: Cluster, partitions: Collection[RunPartition]
) -> tuple[tuple[Original, ...], dict[ConfigResource, Fault]]:
    """The current value of every config that a run may change, and the resources that did not respond."""
    brokers = {_broker(b) for p in partitions for b in p.brokers}
    topics = {_topic(p.topic) for p in partitions}
    found: list[Original] = []
    faults: dict[ConfigResource, Fault] = {}
    for resources, keys in ((brokers, RATE_KEYS), (topics, LIST_KEYS)):
        values, no_response = cluster.configs(resources, keys)
        found += [Original.found(r, key, v.get(key)) for r, v in sorted(values.items()) for key in keys]
        faults |= no_response
    return tuple(found), faults


def _refuse_denied(faults: Mapping[ConfigResource, Fault]) -> None:
    """Raise if permission was denied: nothing moves without the requested throttle, and no retry would help."""
    for resource, fault in faults.items():
        if fault.name.endswith("AUTHORIZATION_FAILED"):
            raise NotAuthorizedError(
                f"not authorized to set the throttle of {resource}: {fault}",
                hint=f"grant AlterConfigs on {granted_on(resource)}, or run without a throttle: --throttle none",
            )


def granted_on(resource: ConfigResource) -> str:
    """The resource on which the permission to a config is granted: for brokers it is the cluster."""
    return "the cluster" if resource.kind is ResourceKind.BROKER else f"topic {resource.name}"


def entries_by_topic(partitions: Iterable[RunPartition]) -> dict[ConfigResource, Entries]:
    """Every entry of throttled replicas that a run may add, by topic and key."""
    ours: defaultdict[ConfigResource, Entries] = defaultdict(lambda: {key: set() for key in LIST_KEYS})
    for planned in partitions:
        for key, entries in list_entries(planned).items():
            ours[_topic(planned.topic)][key] |= entries
    return dict(ours)


def _broker(broker: int) -> ConfigResource:
    return ConfigResource(ResourceKind.BROKER, str(broker))


def _topic(topic: str) -> ConfigResource:
    return ConfigResource(ResourceKind.TOPIC, topic)
