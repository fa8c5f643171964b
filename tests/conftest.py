"""Settings that every test shares."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

# quick: the same few examples on every run; thorough: many new ones, asked for by HYPOTHESIS_PROFILE=thorough
# drawing is slow beside other work, and clusters on which nothing can be placed are drawn again
_CHECKS_LEFT_OUT = [HealthCheck.too_slow, HealthCheck.filter_too_much]
settings.register_profile(
    "quick", max_examples=25, derandomize=True, deadline=None, database=None, suppress_health_check=_CHECKS_LEFT_OUT
)
settings.register_profile(
    "thorough", max_examples=500, deadline=None, suppress_health_check=_CHECKS_LEFT_OUT, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_configure() -> None:
    """Restore Ctrl-C handling, which a shell's background processes ignore, and keep compiled modules."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # the tests start hundreds of processes: each would compile all that it imports, which doubles the time of a command
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True, scope="session")
def _nothing_need_survive_a_power_cut() -> Iterator[None]:
    """Sync no file: journals do so line by line, which takes milliseconds on a busy disk, and no test could tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def _what_the_developer_set_up_is_not_seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Hide the sandboxes, runs and profiles of the user who runs the tests from the processes that tests start."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in ("STATE", "CONFIG"):
            patch.setenv(f"XDG_{kind}_HOME", str(tmp_path_factory.mktemp(kind.lower())))
        yield


_ROOT = Path(__file__).parents[1]
_LIVE = "live: "
_SHARED_CLUSTER = re.compile(r"\b(three_brokers|zookeeper_brokers|newest_broker)\b")
_LINKED_BROKERS = re.compile(r"\blinked_(brokers|stage)\b")
_EXECUTOR, _LINKED, _SHARED = "tests/live/executor", "linked brokers", "shared clusters"
LONGEST_FIRST = (
    _EXECUTOR,
    _SHARED,
    "tests/live/test_java_partitioner.py",
    "tests/live/test_repair.py",
    "tests/live/test_kafka_security.py",
    "tests/live/test_telemetry.py",
    _LINKED,
    "tests/contract/test_cluster.py",
    "tests/live/test_watch.py",
)
"""Groups of live tests that take more than a minute beside others: no worker is left with one at the end."""


@cache
def live_group(test: str) -> str:
    """Tests of one group share clusters, and run one after the other on one worker."""
    path = test.partition("::")[0]
    if path.startswith("tests/live/executor/"):
        return _LINKED if _LINKED_BROKERS.search((_ROOT / path).read_text()) else _EXECUTOR
    return _SHARED if _SHARED_CLUSTER.search((_ROOT / path).read_text()) else path


def _rank(scope: str) -> int:
    group = scope.removeprefix(_LIVE)
    return LONGEST_FIRST.index(group) if group in LONGEST_FIRST else len(LONGEST_FIRST)


class LiveBesideOthers(LoadScopeScheduling):
    """Run live tests, which mostly wait, on one worker while others compute; on all once only live tests are left.

    Within both kinds the longest come first: of live tests by group, of others those with most tests."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        on_kafka = path.startswith("tests/live/") or (path.startswith("tests/contract/") and "[kafka" in nodeid)
        return f"{_LIVE}{live_group(path)}" if on_kafka else path

    def _assign_work_unit(self, node: WorkerController) -> None:
        wants_live = not any(self._is_live(other) for other in self.assigned_work if other is not node)
        chosen = min(self.workqueue, key=lambda scope: (scope.startswith(_LIVE) is not wants_live, _rank(scope)))
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _is_live(self, node: WorkerController) -> bool:
        """Whether a worker has live tests left to run."""
        units = self.assigned_work[node].items()
        return any(scope.startswith(_LIVE) and not all(tests.values()) for scope, tests in units)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling[WorkerController]:
    """Make xdist, if in use, order the tests so that no worker is idle."""
    return LiveBesideOthers(config, log)
