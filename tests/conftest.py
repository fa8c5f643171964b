"""Settings that every test shares."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# quick: the same few examples on every run; thorough: many new ones, asked for by HYPOTHESIS_PROFILE=thorough
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "thorough", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_configure() -> None:
    """Hear Ctrl-C, which what runs in the background of a shell ignores."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class LiveTogether(LoadScopeScheduling):
    """All live tests on one worker, which alone starts clusters; every other file wherever there is time for it."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        on_kafka = path.startswith("tests/live/") or (path.startswith("tests/contract/") and "[kafka" in nodeid)
        return "live" if on_kafka else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling[WorkerController]:
    """Have xdist, where it is in use, keep live tests together."""
    return LiveTogether(config, log)
