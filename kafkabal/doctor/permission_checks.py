"""Checks whether the principal has the permissions of each step: brokers report what they would allow (KIP-430)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

from kafkabal.clusters import Fault, NewTopic
from kafkabal.clusters.kafka import RECORDS_TOPIC, Operation
from kafkabal.doctor.check_result import CheckResult, CheckStatus, failed
from kafkabal.doctor.permissions_by_step import STEPS, PermissionNeed, ResourceType
from kafkabal.doctor.purpose import Purpose
from kafkabal.errors import KafkabalError
from kafkabal.wording import first_of

_AREA = "permissions"
_HINT = "grant them: 'kafkabal help permissions' has the commands"
_OPTIONAL_HINT = "optional, see the notes of 'kafkabal help permissions'"
_DENIED = "AUTHORIZATION_FAILED"
_NAMED = 3
"""Topics that a finding names: enough to recognise the pattern that an ACL misses, in a single line."""


class PermissionReporter(Protocol):
    """Reports permissions, as a live cluster does."""

    def cluster_operations(self) -> frozenset[Operation]:
        """Permitted operations on the cluster itself."""

    def topic_operations(
        self, topics: Collection[str] | None
    ) -> tuple[Mapping[str, frozenset[Operation]], Mapping[str, Fault]]:
        """Permitted operations on topics (None: all that may be described), and the topics that failed."""

    def group_operations(self, group: str) -> frozenset[Operation] | None:
        """Permitted operations on a consumer group; None if they are not reported."""

    def broker_ids(self) -> frozenset[int]:
        """Ids of the registered brokers."""

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """Create topics, or only ask whether they could be created."""


def check_permissions(reporter: PermissionReporter, purposes: Collection[Purpose]) -> Iterator[CheckResult]:
    """One check per step that one of these purposes takes; nothing is changed."""
    # steps share permissions: check each permission once
    lack = cache(_Permissions(reporter).lack)
    for step in STEPS:
        if not step.purposes.isdisjoint(purposes):
            yield _check(step.name, step.needs, lack, is_optional=step.is_optional)


def _check(
    step: str, needs: Collection[PermissionNeed], lack: Callable[[PermissionNeed], str | None], *, is_optional: bool
) -> CheckResult:
    try:
        found = [(need, lack(need)) for need in needs]
    except KafkabalError as error:
        return failed(_AREA, step, error, CheckStatus.SKIPPED)
    missing = [text for _, text in found if text]
    unknown = [need for need, text in found if text is None]
    if missing:
        status, hint = (CheckStatus.WARNING, _OPTIONAL_HINT) if is_optional else (CheckStatus.FAILED, _HINT)
        return CheckResult(area=_AREA, what=step, status=status, detail=f"missing: {', '.join(missing)}", hint=hint)
    if unknown:
        detail = f"not reported by the brokers: {', '.join(map(str, unknown))}"
        return CheckResult(area=_AREA, what=step, status=CheckStatus.SKIPPED, detail=detail)
    return CheckResult(area=_AREA, what=step, status=CheckStatus.OK, detail=", ".join(map(str, needs)))


class _Permissions:
    def __init__(self, reporter: PermissionReporter) -> None:
        self._reporter = reporter
        self._on_cluster = cache(reporter.cluster_operations)
        self._on_topics = cache(lambda: reporter.topic_operations(None)[0])

    def lack(self, need: PermissionNeed) -> str | None:
        """What is missing, for display; empty if nothing is, None if the brokers do not report it."""
        if need.on is ResourceType.CLUSTER:
            return self._lack_on_cluster(need)
        if need.on is ResourceType.TOPIC:
            return self._lack_on_all_topics(need) if need.name == "*" else self._lack_on_topic(need)
        # some groups may not even be listed: only a group named explicitly can be checked
        allowed = None if need.name == "*" else self._reporter.group_operations(need.name)
        return None if allowed is None else self._missing(need, allowed)

    def _lack_on_cluster(self, need: PermissionNeed) -> str | None:
        allowed = self._on_cluster()
        if Operation.DESCRIBE not in allowed and need.operation is not Operation.DESCRIBE:
            return None  # brokers report nothing to a client that may not describe the cluster
        return self._missing(need, allowed)

    def _lack_on_all_topics(self, need: PermissionNeed) -> str | None:
        topics = self._on_topics()
        if not topics:
            return None
        denied = sorted(name for name, allowed in topics.items() if need.operation not in allowed)
        if not denied:
            return ""
        return f"{need.operation} on Topic {first_of(denied, _NAMED)}"

    def _lack_on_topic(self, need: PermissionNeed) -> str | None:
        allowed, faults = self._reporter.topic_operations([need.name])
        if need.name in allowed:
            # no need to create a topic that exists
            return "" if need.operation is Operation.CREATE else self._missing(need, allowed[need.name])
        if faults[need.name].name.endswith(_DENIED):
            return str(need)
        return self._lack_of_creation(need) if need.operation is Operation.CREATE else None

    def _lack_of_creation(self, need: PermissionNeed) -> str:
        topic = NewTopic(name=RECORDS_TOPIC, assignment=((min(self._reporter.broker_ids()),),))
        fault = self._reporter.create_topics([topic], validate_only=True).get(RECORDS_TOPIC)
        return str(need) if fault is not None and fault.name.endswith(_DENIED) else ""

    def _missing(self, need: PermissionNeed, allowed: frozenset[Operation]) -> str:
        return "" if need.operation in allowed else str(need)
