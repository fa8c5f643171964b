"""What changes of a partition, in words."""

from __future__ import annotations

import pytest

from kafkabal.plan import Action, PartitionChange, Placement, Plan
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.plan_diff_report import plan_diff_report
from kafkabal.reporting.plan_moves import change_in_words, moves_table
from kafkabal.reporting.report import Report


@pytest.mark.parametrize(
    ("previous", "log_dirs", "text"),
    [
        (("/data/d0", "/data/d0", "/data/d0"), ("/data/d1", "/data/d1", "any"), "d0 -> d1 on 1,2"),
        (
            ("/data/d0", "/data/d1", "any"),
            ("/data/d1", "/data/d0", "/x"),
            "d0 -> d1 on 1, d1 -> d0 on 2, any -> /x on 3",
        ),
        (("/b-1/d0", "/b-2/d0", "/a"), ("/b-1/d1", "/b-2/d1", "/b"), "d0 -> d1 on 1,2, a -> b on 3"),
        (("d0", "/d", "/d"), ("/d1", "any", "any"), "d0 -> /d1 on 1"),
    ],
)
def test_changes_of_log_dirs_take_one_line(previous: tuple[str, ...], log_dirs: tuple[str, ...], text: str) -> None:
    """Long paths were cut in the middle, so that the first broker seemed to go to the dir of the last."""
    change = PartitionChange(
        topic="t",
        partition=0,
        replicas=(1, 2, 3),
        log_dirs=log_dirs,
        action=Action.LOG_DIR,
        previous=Placement(replicas=(1, 2, 3), leader=1, log_dirs=previous),
    )
    assert change_in_words(change) == text


def test_a_new_leader_and_a_new_log_dir_are_both_shown() -> None:
    """A line that named the log dir alone had the leaders for its reason."""
    change = PartitionChange(
        topic="t",
        partition=0,
        replicas=(2, 4),
        log_dirs=("/d1", "any"),
        action=Action.LOG_DIR,
        previous=Placement(replicas=(4, 2), leader=4, log_dirs=("/d0", "/d0")),
    )
    assert change_in_words(change) == "4,2 -> 2,4, d0 -> d1 on 2"


def test_a_move_shows_the_log_dirs_that_change_on_brokers_that_stay() -> None:
    """The bytes between log dirs stood in a row that named no log dir."""
    change = PartitionChange(
        topic="t",
        partition=0,
        replicas=(6, 5),
        log_dirs=("/b-6/d1", "/b-5/d1"),
        action=Action.MOVE,
        previous=Placement(replicas=(4, 5), leader=4, log_dirs=("/b-4/d0", "/b-5/d0")),
    )
    assert change_in_words(change) == "4,5 -> 6,5, d0 -> d1 on 5"


@pytest.mark.parametrize("is_diff", [False, True])
def test_no_broker_of_a_change_is_cut(is_diff: bool) -> None:
    """On a narrow terminal a change takes two lines; cut like a name, it would show the copy without its target."""
    change = PartitionChange(
        topic="images",
        partition=4,
        replicas=(1006, 1002, 1003),
        log_dirs=("any", "/b-2/d1", "any"),
        action=Action.MOVE,
        previous=Placement(replicas=(1004, 1002, 1003), leader=1004, log_dirs=("/b-4/d0", "/b-2/d0", "/b-3/d0")),
        reason="disk: broker 1004 at 1.77x its fair share",
    )
    one, none = Plan(partitions=(change,), options={}, scores={}), Plan(partitions=(), options={}, scores={})
    report = (
        plan_diff_report(one, none) if is_diff else Report(command="", headline="", tables=(moves_table([change]),))
    )
    text = render(report, "table", OutputCapabilities(width=60))
    assert all(word in text for word in ("1004,1002,1003 ->", "1006,1002,1003,"))
    assert "on 1002" in " ".join(text.split())
