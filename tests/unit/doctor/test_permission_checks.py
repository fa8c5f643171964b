"""Permissions as brokers report them, compared with the documented table."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kafkabal.clusters import Fault, NewTopic
from kafkabal.clusters.kafka import Operation
from kafkabal.doctor import STEPS, CheckResult, CheckStatus, Purpose
from kafkabal.doctor.permission_checks import check_permissions
from kafkabal.errors import MissingCapabilityError

_DOCS = Path(__file__).parents[3] / "docs" / "permissions.md"
_ROW = re.compile(r"^\| ([a-z ]+) \| .+ \| (.+) \|$", re.MULTILINE)
_ALL = frozenset(Operation)
_DENIED = Fault("TOPIC_AUTHORIZATION_FAILED")


@dataclass
class Permissions:
    """A cluster that reports these."""

    cluster: frozenset[Operation] = _ALL
    topics: dict[str, frozenset[Operation]] = field(default_factory=lambda: {"img": _ALL, "__kafkabal": _ALL})
    groups: frozenset[Operation] = _ALL
    faults: dict[str, Fault] = field(default_factory=dict)
    creation: dict[str, Fault] = field(default_factory=dict)

    def cluster_operations(self) -> frozenset[Operation]:
        """Of the cluster."""
        return self.cluster

    def topic_operations(
        self, topics: Collection[str] | None
    ) -> tuple[dict[str, frozenset[Operation]], dict[str, Fault]]:
        """Of all that are asked about."""
        return self.topics, self.faults

    def group_operations(self, group: str) -> frozenset[Operation]:
        """Of every group."""
        return self.groups

    def broker_ids(self) -> frozenset[int]:
        """One broker."""
        return frozenset({1})

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> dict[str, Fault]:
        """Only validate."""
        assert validate_only
        return self.creation


def _found(reported: Permissions, *purposes: Purpose) -> dict[str, CheckResult]:
    return {check.what: check for check in check_permissions(reported, purposes or tuple(Purpose))}


def test_steps_are_those_of_the_documentation() -> None:
    """Each step needs exactly the permissions in the table."""
    documented = {
        step: set(permissions.split("; ")) for step, permissions in _ROW.findall(_DOCS.read_text()) if step != "step"
    }
    assert {step.name: {str(need) for need in step.needs} for step in STEPS} == documented


def test_everything_allowed() -> None:
    """No step is a finding; groups that may not be listed cannot be checked."""
    found = _found(Permissions())
    assert {check.status for check in found.values()} == {CheckStatus.OK, CheckStatus.SKIPPED}
    assert found["read committed offsets"].detail == "not reported by the brokers: Describe on Group *"


def test_missing_permissions_are_named_with_their_step() -> None:
    """Without Alter on the cluster nothing can be moved; everything else works."""
    found = _found(Permissions(cluster=_ALL - {Operation.ALTER}))
    failed = {name for name, check in found.items() if check.status is CheckStatus.FAILED}
    assert failed == {"move replicas", "move replicas between log dirs", "elect leaders"}
    assert found["move replicas"].detail == "missing: Alter on Cluster"
    assert "help permissions" in found["move replicas"].hint


def test_topics_that_lack_something_are_named() -> None:
    """The first few by name, and the number of the others."""
    some = {f"t{number}": _ALL - {Operation.ALTER_CONFIGS} for number in range(5)}
    found = _found(Permissions(topics={"img": _ALL, "__kafkabal": _ALL, **some}))
    assert found["set throttles"].detail == "missing: AlterConfigs on Topic t0, t1, t2 and 2 more"


def test_without_describe_the_rest_is_unknown() -> None:
    """Brokers report nothing to a principal that may not describe the cluster: that proves nothing missing."""
    found = _found(Permissions(cluster=frozenset()))
    assert found["read the cluster"].detail == "missing: Describe on Cluster"
    assert found["move replicas"].status is CheckStatus.SKIPPED


def test_optional_permissions_only_warn() -> None:
    """Runs work without the lock of the cluster and without its record."""
    denied = Permissions(topics={"img": _ALL}, groups=frozenset(), faults={"__kafkabal": _DENIED})
    found = _found(denied)
    assert found["take the lock of watch"].status is CheckStatus.FAILED
    warned = {name for name, check in found.items() if check.status is CheckStatus.WARNING}
    assert warned == {"take the lock", "write the run record", "read the run record"}


@pytest.mark.parametrize(
    ("creation", "status"), [({}, CheckStatus.SKIPPED), ({"__kafkabal": _DENIED}, CheckStatus.WARNING)]
)
def test_a_record_that_is_not_there_yet(creation: dict[str, Fault], status: CheckStatus) -> None:
    """It asks whether the topic could be created, and creates nothing."""
    absent = Fault("UNKNOWN_TOPIC_OR_PARTITION")
    found = _found(Permissions(topics={"img": _ALL}, faults={"__kafkabal": absent}, creation=creation))
    assert found["write the run record"].status is status


def test_checks_only_the_permissions_of_one_command() -> None:
    """For inspect alone, missing permissions of rebalance are not reported."""
    found = _found(Permissions(cluster=frozenset({Operation.DESCRIBE})), Purpose.INSPECT)
    assert "move replicas" not in found
    assert not any(check.status.is_finding for check in found.values())


def test_brokers_that_do_not_report_permissions() -> None:
    """Before Kafka 2.3 nothing is known, which is not a finding."""

    class Old(Permissions):
        def cluster_operations(self) -> frozenset[Operation]:
            raise MissingCapabilityError("unknown request")

    assert _found(Old())["move replicas"].status is CheckStatus.SKIPPED
