"""Requests of a run: checked, fenced, journaled first, split, sent, and their responses recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from kafkabal.clusters import ConfigChange, ConfigOperation, ConfigResource, Fault, ReplicaOn, ResourceKind
from kafkabal.errors import UnreachableError
from kafkabal.executor.run_events import Submitted
from kafkabal.executor.safety.fenced_requests import FencedRequests
from kafkabal.executor.state.journal_records import Confirmed, EffectKind, Intended, Unanswered
from kafkabal.model import TopicPartition

A, B, C = (TopicPartition("t", n) for n in range(3))
FAULT = Fault("NOT_CONTROLLER", "ask another")
TOPIC, BROKER = ConfigResource(ResourceKind.TOPIC, "t"), ConfigResource(ResourceKind.BROKER, "1")


@dataclass
class _Scene:
    """Cluster, store, fence, invariants and listener in one, and what happened in which order."""

    happened: list[Any] = field(default_factory=list)
    answer: Callable[[], dict[Any, Fault]] = dict

    def now(self) -> str:
        """The time."""
        return "now"

    def append(self, *records: Any) -> None:
        """Keep them."""
        self.happened += records

    announce_request = append

    def check(self) -> None:
        """The fence."""
        self.happened.append("fence")

    def check_begun(self) -> None:
        """An invariant."""
        self.happened.append("begun")

    def check_placement(self, targets: Any) -> None:
        """An invariant."""
        self.happened.append(("placement", dict(targets)))

    def check_configs(self, changes: Any) -> None:
        """An invariant."""
        self.happened.append(("configs", list(changes)))

    def on_event(self, event: Any) -> None:
        """The listener."""
        self.happened.append(event)

    def alter_reassignments(self, targets: Any, **how: Any) -> dict[Any, Fault]:
        """The cluster."""
        return self._asked("alter", dict(targets), how)

    def move_log_dirs(self, targets: Any) -> dict[Any, Fault]:
        """The cluster."""
        return self._asked("dirs", dict(targets))

    def elect_preferred_leaders(self, names: Any) -> dict[Any, Fault]:
        """The cluster."""
        return self._asked("elect", list(names))

    def alter_configs(self, changes: Any) -> dict[Any, Fault]:
        """The cluster."""
        return self._asked("alter configs", list(changes))

    def _asked(self, *what: Any) -> dict[Any, Fault]:
        self.happened.append(what)
        return self.answer()

    def requests(self, items_per_request: int = 2) -> FencedRequests:
        """The object under test."""
        some: Any = self
        return FencedRequests(some, some, some, some, some, last_number=6, items_per_request=items_per_request)


def _sent(number: int, kind: EffectKind, items: dict[str, Any], call: Any, failed: dict[str, str]) -> list[Any]:
    return [
        "begun",
        "fence",
        Intended(at="now", number=number, kind=kind, items=items),
        "fence",
        call,
        Confirmed(at="now", number=number, failed=failed),
        Submitted(effect=number, kind=kind, items=len(items), failed=len(failed)),
    ]


def test_reassignments() -> None:
    """In chunks, each journaled first; failures of each are returned and recorded."""
    answers = iter([{A: FAULT}, {C: FAULT}])
    scene = _Scene(answer=lambda: next(answers))
    targets = {A: (1, 2), B: (2, 3), C: (3, 1)}
    assert scene.requests().reassign(targets, changes_replication_factor=True) == {A: FAULT, C: FAULT}
    reported, how = "NOT_CONTROLLER: ask another", {"allow_replication_factor_change": True}
    first, second = {"t-0": [1, 2], "t-1": [2, 3]}, {"t-2": [3, 1]}
    assert scene.happened == [
        ("placement", targets),
        *_sent(7, EffectKind.REASSIGN, first, ("alter", {A: (1, 2), B: (2, 3)}, how), {"t-0": reported}),
        *_sent(8, EffectKind.REASSIGN, second, ("alter", {C: (3, 1)}, how), {"t-2": reported}),
    ]


def test_cancellations() -> None:
    """In chunks of the requested size."""
    answers = iter([{B: FAULT}, {}])
    scene = _Scene(answer=lambda: next(answers))
    assert scene.requests().cancel([A, B, C]) == {B: FAULT}
    call = ("alter", {A: None, B: None}, {})
    failed = {"t-1": "NOT_CONTROLLER: ask another"}
    assert scene.happened == [
        *_sent(7, EffectKind.CANCEL, {"t-0": None, "t-1": None}, call, failed),
        *_sent(8, EffectKind.CANCEL, {"t-2": None}, ("alter", {C: None}, {}), {}),
    ]


def test_log_dirs() -> None:
    """Each step of log dir moves is recorded before and after its request, by partition and broker."""
    one, two, three = (ReplicaOn("t", 0, b) for b in (1, 2, 3))
    answers = iter([{one: FAULT}, {three: FAULT}])
    scene = _Scene(answer=lambda: next(answers))
    assert scene.requests().move_log_dirs({one: "/a", two: "/b", three: "/c"}) == {one: FAULT, three: FAULT}
    first, second = {"t-0:1": "/a", "t-0:2": "/b"}, {"t-0:3": "/c"}
    reported = "NOT_CONTROLLER: ask another"
    assert scene.happened == [
        *_sent(7, EffectKind.LOG_DIRS, first, ("dirs", {one: "/a", two: "/b"}), {str(one): reported}),
        *_sent(8, EffectKind.LOG_DIRS, second, ("dirs", {three: "/c"}), {str(three): reported}),
    ]


def test_elections() -> None:
    """All in one request: the caller decides how many."""
    scene = _Scene(answer=lambda: {B: FAULT})
    assert scene.requests().elect([A, B, C]) == {B: FAULT}
    items = dict.fromkeys(("t-0", "t-1", "t-2"))
    failed = {"t-1": "NOT_CONTROLLER: ask another"}
    assert scene.happened == _sent(7, EffectKind.ELECT, items, ("elect", [A, B, C]), failed)


def test_configs() -> None:
    """With the whole new value, or with the entries added or removed."""
    changes = [
        ConfigChange(BROKER, "rate", "7"),
        ConfigChange(BROKER, "other", None),
        ConfigChange(TOPIC, "list", "0:1", ConfigOperation.APPEND),
    ]
    scene = _Scene(answer=lambda: {TOPIC: FAULT})
    assert scene.requests().alter_configs(changes) == {TOPIC: FAULT}
    items = {str(BROKER): {"rate": "7", "other": None}, str(TOPIC): {"list": {"append": "0:1"}}}
    failed = {str(TOPIC): "NOT_CONTROLLER: ask another"}
    assert scene.happened == [
        ("configs", changes),
        *_sent(7, EffectKind.CONFIGS, items, ("alter configs", changes), failed),
    ]


def test_empty_requests_are_not_sent() -> None:
    """No request, no record, no fence."""
    scene = _Scene()
    requests = scene.requests()
    assert requests.reassign({}, changes_replication_factor=False) == {}
    assert requests.cancel([]) == requests.move_log_dirs({}) == requests.elect([]) == requests.alter_configs([]) == {}
    assert scene.happened == [("placement", {}), ("configs", [])]


def test_a_lost_response() -> None:
    """It is recorded as such, and nothing more is sent; numbers continue."""

    def lost() -> dict[Any, Fault]:
        raise UnreachableError("no answer")

    scene = _Scene(answer=lost)
    requests = scene.requests()
    with pytest.raises(UnreachableError):
        requests.cancel([A, B, C])
    assert scene.happened[-1] == Unanswered(at="now", number=7, error="no answer")
    assert len(scene.happened) == 6
    scene.answer = dict
    requests.cancel([C])
    assert scene.happened[-1].effect == 8
