"""Runs killed (SIGKILL) in every state: resumed to the plan or rolled back to the start, with nothing left behind."""

from __future__ import annotations

import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from kafkabal.executor.execute_run import apply, cancel, resume, roll_back
from kafkabal.executor.live_run_status import run_status
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle, Timeouts
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.journal_records import Entered
from kafkabal.executor.state.run_states import Phase, RunOutcome
from tests.live.executor.stage import Stage

_QUICKLY = RunOptions(
    limits=RunLimits(disk_fraction=1.0),
    timeouts=Timeouts(poll_s=0.1),
    throttle=Throttle(bytes_per_s=50_000_000, log_dir_bytes_per_s=50_000_000),
    session_s=3.0,
)
"""How what was killed is mended: all at once."""
_THROTTLE = Throttle(bytes_per_s=1_000_000, log_dir_bytes_per_s=1_000_000)
_AFTER_THE_MOVES = {Phase.ELECTING, Phase.RESTORING, Phase.CLOSED}


@dataclass(frozen=True)
class Moment:
    """When the journal has so many records of a phase."""

    phase: Phase
    records: int


_SHORT = (Moment(Phase.MOVING, 4), Moment(Phase.MOVING, 16), Moment(Phase.ELECTING, 2), Moment(Phase.RESTORING, 2))
_MOVING, _RESTORING = (Moment(Phase.MOVING, 12),), (Moment(Phase.RESTORING, 1),)
_TRIES = 5
"""How often a state that was never hit is tried at one of its moments."""
_BUT_MOVING = tuple(
    Moment(phase, n)
    for phase, records in (
        (Phase.PREPARED, (1, 1)),
        (Phase.RECORDED, (1, 1)),
        (Phase.PAUSED, (1, 1)),
        (Phase.ELECTING, (1, 1, 2, 3)),
        (Phase.CANCELLING, (1, 1, 2, 3)),
        (Phase.RESTORING, (1, 1, 2, 3)),
        (Phase.CLOSED, (1,)),
    )
    for n in records
)


@pytest.mark.parametrize(
    ("moments", "then"),
    [
        ((*_MOVING, *_RESTORING), "resume"),
        (_RESTORING, "roll back"),
        (_MOVING, "resume from the topic"),
        (_RESTORING, "roll back from the topic"),
        (_MOVING, "cancel from the topic"),
        pytest.param(_SHORT, "resume", marks=pytest.mark.sweep),
        pytest.param(_SHORT, "roll back", marks=pytest.mark.sweep),
        pytest.param(_RESTORING, "resume from the topic", marks=pytest.mark.sweep),
        pytest.param(_MOVING, "roll back from the topic", marks=pytest.mark.sweep),
        pytest.param(_RESTORING, "cancel from the topic", marks=pytest.mark.sweep),
    ],
)
def test_killed_run(stage: Stage, moments: Sequence[Moment], then: str) -> None:
    """A run killed in any state ends exactly at the plan or at the start, with its journal or without."""
    for number, moment in enumerate(moments):
        _kill_and_mend(stage, moment, then, f"other-{number}" if "topic" in then else "one")


@pytest.mark.sweep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("then", ["resume", "roll back", "resume from the topic"])
def test_killed_run_at_fifty_moments(stage: Stage, then: str, record_property: Callable[[str, object], None]) -> None:
    """A run killed at fifty moments, at least one in every state, ends exactly at the plan or at the start."""
    hit: Counter[str] = Counter()
    for moment in _spread(stage, 50):
        for _ in range(_TRIES):  # some states last milliseconds, and may have passed when the process is killed
            phase = _kill_and_mend(stage, moment, then, f"other-{hit.total()}" if "topic" in then else "one")
            hit[phase.value] += 1
            sys.stdout.write(f"{then}: {hit.total()} moments, {dict(hit)}\n")
            if hit[moment.phase.value]:
                break
    record_property("states", dict(hit))
    assert hit.keys() == {phase.value for phase in Phase}


def _spread(stage: Stage, moments: int) -> list[Moment]:
    """Moments in every other state, and the remaining ones spread over the moves."""
    apply(stage.environment(), stage.plan, _options(stage, Phase.MOVING))
    last = _records_by_phase(stage)[Phase.MOVING]
    roll_back(stage.environment(), options=_QUICKLY)
    stage.assert_as_at_start()
    moving = moments - len(_BUT_MOVING)
    return [*_BUT_MOVING, *(Moment(Phase.MOVING, 1 + round(n * (last - 1) / (moving - 1))) for n in range(moving))]


def _kill_and_mend(stage: Stage, moment: Moment, then: str, host: str) -> Phase:
    """Start, die at a moment, repair, and go back to the start; returns the state in which it died."""
    known = find_run(stage.environment())
    phase = _kill(stage, moment)
    if "topic" in then:
        for path in stage.journals():
            path.unlink()
    found = find_run(stage.environment(host))
    if found is None or (known and found.record.run_id == known.record.run_id):
        assert phase is Phase.PREPARED  # nothing changed, and nothing needs repair
    else:
        _mend(stage, then.partition(" from")[0], host)
    stage.assert_as_at_start()
    return phase


def _kill(stage: Stage, moment: Moment) -> Phase:
    """Apply the plan and kill the process at a moment; returns the state in which it died."""
    before = stage.journals()
    process = stage.begin_when_free(_options(stage, moment.phase), "apply")
    if moment.phase is Phase.CANCELLING:
        stage.until(stage.in_flight)
        process.send(signal.SIGTERM)
    while process.popen.poll() is None:
        if stage.journals() - before and _records_by_phase(stage)[moment.phase] >= moment.records:
            process.kill()
        time.sleep(0.001)
    assert process.popen.returncode in (-signal.SIGKILL, 0, 1), process.said.read_text()
    assert stage.journals() - before, process.said.read_text()
    return stage.journal().state.phase


def _options(stage: Stage, phase: Phase) -> RunOptions:
    """Batches long enough to be hit; a closed window if a pause is wanted."""
    if phase in _AFTER_THE_MOVES:
        return stage.fast
    opens = datetime.now().astimezone() + timedelta(hours=6)
    window = f"{opens:%H:%M}-{opens + timedelta(hours=1):%H:%M}" if phase is Phase.PAUSED else None
    return replace(stage.fast, throttle=_THROTTLE, window=window)


def _records_by_phase(stage: Stage) -> Counter[Phase]:
    """Records of the latest journal by the phase in which they were written."""
    found: Counter[Phase] = Counter()
    phase = Phase.PREPARED
    for record in stage.records():
        phase = record.phase if isinstance(record, Entered) else phase
        found[phase] += 1
    return found


def _mend(stage: Stage, then: str, host: str) -> None:
    """Resume, roll back or cancel a run that was killed; then roll it back."""
    environment = stage.environment(host)
    left = find_run(environment)
    assert left is not None
    if then == "resume":
        # a run that was complete before the kill is refused: its plan is not executed again
        with nullcontext() if left.is_resumable else pytest.raises(RunClosedError):
            assert stage.when_free(lambda: resume(environment, options=_QUICKLY)).outcome is RunOutcome.COMPLETE
        stage.assert_as_planned()
        done = find_run(environment)
        assert done is not None
        assert run_status(stage.cluster, done).is_as_planned
    elif then == "cancel":
        with nullcontext() if left.is_open else pytest.raises(RunClosedError):
            stage.when_free(lambda: cancel(environment))
        stage.assert_clean()
    assert stage.when_free(lambda: roll_back(environment, options=_QUICKLY)).outcome is RunOutcome.COMPLETE
