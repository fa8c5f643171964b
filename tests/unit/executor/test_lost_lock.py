"""A lock that was lost: a process that stood still while another went on with its run leaves all of it alone."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.errors import BusyError
from kafkabal.executor.finding import find_run
from kafkabal.executor.runs import apply, resume
from kafkabal.executor.states import Outcome


def test_stopped_process_whose_run_another_has_ended(scene: Any) -> None:
    """A process that wakes up when all is done says so (75), and does not close what is no longer its run."""
    first, other, known = scene.memory, scene.memory.connect("other"), []

    def remembered() -> Any:
        found = find_run(scene.workplace(other, host="three"))
        return found and (found.record, found.state)

    def stand_still(call: Any) -> None:
        if call.method == "broker_ids" and call.method_number == 4:
            first.stop()
            first.kafka.clock.sleep(40.0)
            resume(scene.workplace(other, host="two"))
            first.go_on()
            known.append(remembered())

    scene.faulty.before.append(stand_still)
    with pytest.raises(BusyError, match="lost the lock"):
        apply(scene.workplace(), scene.plan, scene.options)
    assert known == [remembered()]
    scene.assert_as_planned()


def test_stopped_process_that_was_about_to_begin(scene: Any) -> None:
    """A process that stands still before it has written anything down does not displace the run of another."""
    first, other, known = scene.memory, scene.memory.connect("other"), []

    def stand_still(call: Any) -> None:
        if call.method == "configs" and call.method_number == 1:
            first.stop()
            first.kafka.clock.sleep(40.0)
            apply(scene.workplace(other, host="two"), scene.plan, scene.options)
            first.go_on()
            known.append(find_run(scene.workplace(other, host="three")).record)  # type: ignore[union-attr]

    scene.faulty.before.append(stand_still)
    with pytest.raises(BusyError, match="lost before anything was changed"):
        apply(scene.workplace(), scene.plan, scene.options)
    assert known == [find_run(scene.workplace(other, host="three")).record]  # type: ignore[union-attr]
    scene.assert_as_planned()


@pytest.mark.parametrize(
    ("method", "number"), [("broker_ids", 1), ("partition_status", 4)], ids=["just begun", "amid the moves"]
)
def test_stopped_process_whose_run_nobody_touched(scene: Any, method: str, number: int) -> None:
    """A process that stood still, before its first request or later, takes the lock again and goes on."""

    def stand_still(call: Any) -> None:
        if call.method == method and call.method_number == number:
            scene.memory.stop()
            scene.memory.kafka.clock.sleep(40.0)
            scene.memory.go_on()

    scene.faulty.before.append(stand_still)
    result = apply(scene.workplace(), scene.plan, scene.options)
    assert result is not None
    assert result.outcome is Outcome.COMPLETE
    scene.assert_as_planned()
