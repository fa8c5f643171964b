"""A preview of what resuming or rolling back a run would move, in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from kafkabal.executor import FoundRun, Goal, PreviewedMove, ReopenPreview
from kafkabal.printable import printable
from kafkabal.units import format_bytes, format_moment
from kafkabal.wording import counted_noun, first_of, replica_list

_SHOWN = 5
"""As many as a message lists: they stay visible above the prompt that follows."""
_DOES = {Goal.APPLY: "moves", Goal.ROLL_BACK: "moves back", Goal.CANCEL: "cancels the moves of"}


def preview_lines(found: FoundRun, goal: Goal, preview: ReopenPreview) -> Iterator[str]:
    """The total, the first few partitions, and those that stay because others have moved them."""
    moves = preview.moves
    yield preview_headline(found, goal, preview)
    for move in moves[:_SHOWN]:
        yield f"  {move.name}: {_change(move)}"
    if len(moves) > _SHOWN:
        yield f"  and {len(moves) - _SHOWN} more"
    if preview.skipped:
        yield f"skipped, moved by another run or tool since: {first_of(preview.skipped, _SHOWN)}"


def preview_headline(found: FoundRun, goal: Goal, preview: ReopenPreview) -> str:
    """How many partitions and bytes the run would move."""
    run = f"run {found.record.run_id} of {format_moment(found.record.started_at)}"
    if goal is Goal.CANCEL and not preview.moves:
        return f"{run} has no reassignment in flight: only restores its throttles"
    extent = "" if goal is Goal.CANCEL else f", {_extent(preview)}"
    return (
        f"{run} {_DOES[goal]} {len(preview.moves)} of {counted_noun(len(found.record.partitions), 'partition')}{extent}"
    )


def _extent(preview: ReopenPreview) -> str:
    between_brokers = f"{format_bytes(preview.copy_bytes)} between brokers"
    if not preview.log_dir_bytes:
        return between_brokers
    return f"{between_brokers}, {format_bytes(preview.log_dir_bytes)} between log dirs"


def _change(move: PreviewedMove) -> str:
    """Brokers before and after; the log dirs if the brokers stay; a cancel if it only has to stay where it is."""
    if move.found == move.target and not move.log_dirs:
        return "cancels its reassignment"
    size = format_bytes(move.copy_bytes + move.log_dir_bytes)
    if move.found != move.target:
        return f"{replica_list(move.found)} to {replica_list(move.target)}, {size}"
    dirs = [printable(f"to {path} on broker {broker}") for broker, path in sorted(move.log_dirs.items())]
    return ", ".join([*dirs, size])
