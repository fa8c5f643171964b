"""What no request of a run may ever violate, whatever led to it: asserted just before each request is sent.

``python -m tools.model_check`` checks the same in every state of a small cluster. These assertions guard clusters
that no model covers: a bug ends the run before it reaches the cluster, and throttles are restored as after any error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkabal.clusters import ConfigChange, ConfigOperation
from kafkabal.executor.state.run_record import RunPartition, RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS, list_entries
from kafkabal.model import TopicPartition
from kafkabal.wording import counted_noun


class BrokenInvariantError(AssertionError):
    """The program is about to do what it must never do; a bug, like every failed assertion."""


class RunInvariants:
    """Checks the requests of one run against its record."""

    def __init__(self, record: RunRecord, state: RunState) -> None:
        self._state = state
        self._originals = record.originals
        self._planned = {p.name: p for p in record.partitions}
        self._entries = {(p.topic, key): set[str]() for p in record.partitions for key in LIST_KEYS}
        for planned in record.partitions:
            for key, entries in list_entries(planned).items():
                self._entries[planned.topic, key] |= entries

    def check_begun(self) -> None:
        """Nothing may be changed before the run is recorded: it could neither be resumed nor undone."""
        if not self._state.has_begun:
            raise BrokenInvariantError("a request before the run is recorded")

    def check_placement(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> None:
        """A partition of the run gets no fewer replicas than it had or will have, and none on a third broker."""
        for name, target in targets.items():
            planned = self._planned.get(name)
            if planned is None:
                raise BrokenInvariantError(f"{name} is not part of the run")
            if len(set(target)) < _least_replicas(planned):
                raise BrokenInvariantError(f"{name} would be left with {counted_noun(len(set(target)), 'replica')}")
            if not planned.brokers.issuperset(target):
                raise BrokenInvariantError(f"{name} would get replicas on brokers {target} that the plan does not name")

    def check_configs(self, changes: Iterable[ConfigChange]) -> None:
        """A throttle is set only to a value recorded before; lists gain and lose only entries of the run."""
        for change in changes:
            if change.key in RATE_KEYS:
                self._check_rate(change)
            elif change.key in LIST_KEYS:
                self._check_list(change)

    def _check_rate(self, change: ConfigChange) -> None:
        originals = (*self._originals, *self._state.later_originals)
        before = {o.own_value for o in originals if (o.of, o.key) == (change.resource, change.key)}
        if change.value not in before | self._state.rates:
            raise BrokenInvariantError(f"{change.key} of {change.resource} to {change.value}: not recorded")

    def _check_list(self, change: ConfigChange) -> None:
        if change.operation is ConfigOperation.SET and change.value is not None:
            raise BrokenInvariantError(f"{change.key} of {change.resource} would be replaced as a whole")
        entries = set(change.value.split(",")) if change.value else set()
        if not entries <= self._entries.get((change.resource.name, change.key), set()):
            raise BrokenInvariantError(f"{change.key} of {change.resource}: {sorted(entries)} are not of the run")


def _least_replicas(planned: RunPartition) -> int:
    return min(len(planned.previous.replicas), len(planned.replicas))
