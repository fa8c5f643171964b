"""Checks whether a run was left unfinished: killed with its host, given up, or detached."""

from __future__ import annotations

from collections.abc import Iterator

from kafkabal.clusters import Capability
from kafkabal.doctor.check_result import CheckResult, CheckStatus
from kafkabal.executor import FoundRun, Phase, RunEnvironment, RunOutcome, current_holder, find_run
from kafkabal.wording import first_of


def check_latest_run(environment: RunEnvironment) -> Iterator[CheckResult]:
    """The latest run, as this host and the cluster know it, if it is unfinished and no process works on it."""
    if Capability.REASSIGN not in environment.cluster.capabilities:
        return
    found = find_run(environment)
    if found is None or not found.is_open:
        return
    holder, why_unknown = current_holder(environment.cluster)
    # read again: a run that has just ended was live when it was read first
    found = find_run(environment)
    if holder is not None or found is None or not found.is_open:
        return
    yield CheckResult(
        area="cluster",
        what="latest run",
        status=CheckStatus.WARNING,
        detail=_in_words(found, why_unknown),
        hint="continue with 'kafkabal rebalance resume', or end it with 'kafkabal rebalance cancel'",
    )


def _in_words(found: FoundRun, why_unknown: str) -> str:
    run, state = f"run {found.record.run_id} of {found.record.host}", found.state
    if state.phase is Phase.CLOSED and state.outcome is not RunOutcome.DETACHED:
        return f"{run} has ended and left: {first_of(state.pending)}"
    who = f"unknown whether a process works on it: {why_unknown}" if why_unknown else "no process works on it"
    return f"{run} is unfinished (phase: {state.phase_in_words}); {who}"
