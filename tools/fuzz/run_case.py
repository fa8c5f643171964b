"""Runs a case in this process, and reports what is wrong with how it ended."""

from __future__ import annotations

import io
import os
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.errors import ExitCode
from tools.fuzz.cases import Case

MOST_SECONDS = 20
"""Of processor time, so that other work on the machine makes no difference."""
_MOST_WAIT_SECONDS = 6 * MOST_SECONDS
"""Wall time, including waits."""
MOST_BYTES = 500 * 2**20
_HASTE = 50
"""Speed-up of the clock of commands that wait for brokers, which do not exist."""
_CODES = frozenset(ExitCode)


class TooSlow(BaseException):
    """A case exceeded its time; a BaseException, so that no handler of the tested program catches it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a case ended."""

    code: int
    out: str
    err: str
    busy_s: float
    growth_bytes: int
    """Growth of this process's peak memory; 0 if it had reached that before."""
    has_file: bool = False
    """Whether the result was written to a file."""
    crash: str = ""
    """The traceback, if the program raised instead of returning an exit code."""

    @property
    def fault(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if self.crash:
            return self.crash
        if "this is a bug in kafkabal" in self.err or "Traceback" in self.err:
            return self.err
        if self.code not in _CODES:
            return f"exit code {self.code}"
        if self.code != ExitCode.DONE and not self.err + self.out and not self.has_file:
            return f"exit code {self.code} and not a word"
        if self.busy_s > MOST_SECONDS:
            return f"{self.busy_s:.0f} s"
        return f"{self.growth_bytes / 2**20:.0f} MiB" if self.growth_bytes > MOST_BYTES else ""


def run_case(case: Case) -> Ending:
    """Run a case in its own folder."""
    before, started_s = _most_bytes(), time.process_time()
    out, err = io.StringIO(), io.StringIO()
    code, crash = -1, ""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in case.files.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        context = CommandContext(
            stdin=io.TextIOWrapper(io.BytesIO()),
            stdout=out,
            stderr=err,
            environ={"KAFKABAL_HOME": name, "HOME": name},
            folders={kind: folder / kind for kind in ("config", "cache", "state")},
            monotonic=lambda: time.monotonic() * _HASTE,
            sleep=lambda seconds: time.sleep(min(max(seconds, 0), 0.001)),
        )
        try:
            with _within(folder), _limited(), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings(
                    "ignore", "(read|open)_text is deprecated", DeprecationWarning
                )  # in kafka-python
                code = main(case.words, context)
        except TooSlow:
            crash = f"more than {MOST_SECONDS} s"
        except BaseException:  # noqa: BLE001 - whatever comes out of main is a fault
            crash = traceback.format_exc()
    return Ending(
        code,
        out.getvalue(),
        err.getvalue(),
        busy_s=time.process_time() - started_s,
        growth_bytes=_most_bytes() - before,
        has_file="--output-file" in case.words,
        crash=crash,
    )


def fault_of(run: Callable[[], None]) -> str:
    """What is wrong with a function that should return: a traceback, or a timeout; empty if nothing is."""
    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("error")
            run()
    except TooSlow:
        return f"more than {MOST_SECONDS} s"
    except BaseException:  # noqa: BLE001 - whatever comes out is a fault
        return traceback.format_exc()
    return ""


def _most_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _limited() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, MOST_SECONDS + 1),
        (signal.SIGALRM, signal.ITIMER_REAL, _MOST_WAIT_SECONDS),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
