"""A run that lasts needs no more memory, file handles or threads at its end than at its beginning."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import psutil
import pytest

from tests.live.executor.scenery import KB
from tests.live.executor.stage import Stage, options

_WARM_UP_S = 6.0
_MOST_GROWTH_BYTES_PER_S = {20: 200_000, 900: 5_000}
"""By seconds: what is imported and cached early on weighs on a short run, and not on a long one."""
_RATES = {20: 100 * KB, 900: 10 * KB}
"""Leave moves in flight for longer than that."""


@dataclass
class Sample:
    """What a process holds at a moment."""

    at_s: float
    rss_bytes: int
    handles: int
    threads: int


def _sample(process: psutil.Process) -> Sample:
    with process.oneshot():
        return Sample(time.monotonic(), process.memory_info().rss, process.num_fds(), process.num_threads())


@pytest.mark.parametrize(
    "seconds", [20, pytest.param(900, marks=[pytest.mark.sweep, pytest.mark.timeout(1200)])], ids=["short", "long"]
)
def test_nothing_grows(stage: Stage, seconds: int) -> None:
    """Sampled twice a second, memory has no slope, and handles and threads stay below what they were early on."""
    process = stage.begin(options(_RATES[seconds]))
    stage.until(stage.in_flight)
    time.sleep(_WARM_UP_S)
    watched = psutil.Process(process.popen.pid)
    samples = []
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at and stage.in_flight():
        samples.append(_sample(watched))
        time.sleep(0.5)
    assert len(samples) > 10
    slope, _ = np.polyfit([s.at_s - samples[0].at_s for s in samples], [s.rss_bytes for s in samples], 1)
    early, late = np.array_split(np.array(samples, dtype=object), 2)
    assert slope < _MOST_GROWTH_BYTES_PER_S[seconds], f"memory grows by {slope:.0f} B/s"
    assert max(s.handles for s in late) <= max(s.handles for s in early) + 2
    # a reporter, a renewal of the lock and a probe may meet in one sample
    assert max(s.threads for s in late) <= max(s.threads for s in early) + 3
    stage.hasten()
    assert process.end()[0] == 0
