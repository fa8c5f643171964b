"""Two hosts, one cluster: only one works on it, and one that slept through its session has lost it."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING

from kafkabal.errors import BusyError
from kafkabal.plan.file import write_plan

if TYPE_CHECKING:
    from tests.live.executor.stage import Stage

_BUSY = BusyError.exit_code
_SESSION_S = 30.0


def test_one_that_slept_while_another_worked_sends_nothing_more(stage: Stage) -> None:
    """Stopped, replaced by another host and continued, it sends no request and says that it lost the lock (75)."""
    sleeper = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    sleeper.send(signal.SIGSTOP)
    sent = stage.journal().effects
    stage.finish("resume", host="two")
    sleeper.send(signal.SIGCONT)
    code, said = sleeper.end()
    assert (code, said) == (_BUSY, said)
    assert "somebody else has gone on with run" in said
    assert said.count("\n") == 1
    assert stage.journal().effects == sent
    stage.assert_as_planned()


def test_one_that_slept_while_nobody_worked_goes_on(stage: Stage) -> None:
    """Stopped for two sessions and continued, it takes the lock anew, looks, and comes to its end."""
    sleeper = stage.begin(stage.fast)
    stage.until(lambda: bool(stage.journals()))
    sleeper.send(signal.SIGSTOP)
    time.sleep(2 * stage.fast.session_s)
    sleeper.send(signal.SIGCONT)
    code, said = sleeper.end()
    assert code == 0, said
    stage.assert_as_planned()


def test_two_hosts_at_once(stage: Stage) -> None:
    """The command of the second ends with 75 and names the first; once that was killed, it may go on in time."""
    plan = stage.folder / "plan.json"
    write_plan(stage.plan, plan)
    words = stage.command_line("apply", str(plan), "--yes", "--throttle", "100kB")
    first = subprocess.Popen(words, env=stage.environment("one"))
    try:
        stage.until(stage.in_flight)
        busy = stage.command("resume", "--throttle", "50MB", host="two")
        assert busy.returncode == _BUSY
        assert f"(process {first.pid}) is changing this cluster" in busy.stderr
        assert first.poll() is None
    finally:
        first.kill()
        first.wait()
    killed_s = time.monotonic()
    while (ended := stage.command("resume", "--throttle", "50MB", host="two")).returncode == _BUSY:
        assert time.monotonic() - killed_s < 2 * _SESSION_S
        time.sleep(0.5)
    assert ended.returncode == 0, ended.stderr
    stage.assert_as_planned()
