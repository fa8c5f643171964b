"""Runs with random faults on real brokers, and a checker of every record that is written meanwhile.

``ROUNDS=200 pytest -n0 -s -m sweep tests/live/executor/test_rounds.py`` runs that many rounds, from ``FIRST_ROUND`` on;
each prints what happened in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkabal.sandbox import Sandbox
from tests.live.executor.broker_links import BrokerLinks
from tests.live.executor.conftest import make_stage
from tests.live.executor.fault_rounds import Round

_SMALL_BYTES = 96 * 2**20


@pytest.fixture(scope="module")
def small_dir(linked_brokers: Sandbox) -> Iterator[Path | None]:
    """A log dir of broker 4 on its own small volume, if this user may mount one."""
    folder = linked_brokers.log_dirs(4)[1]
    linked_brokers.stop(4)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SMALL_BYTES}", "tmpfs", str(folder)]
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if is_mounted:
        for name, content in kept.items():
            (folder / name).write_bytes(content)
    linked_brokers.start(4)
    yield folder if is_mounted else None
    if is_mounted:
        linked_brokers.kill(4)
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.sweep) for n in (2, 3))])
def test_short_rounds(linked_brokers: Sandbox, links: BrokerLinks, tmp_path: Path, seed: int) -> None:
    """One fault per run: nothing is lost, and the run is completed or undone."""
    for stage in make_stage(linked_brokers, tmp_path):
        played = Round(stage, links, seed, is_short=True)
        try:
            assert played.run() > 100
        finally:
            _say("\n".join(played.story))
    assert links.pairs_seen


@pytest.mark.sweep
@pytest.mark.timeout(0)
def test_rounds(linked_brokers: Sandbox, links: BrokerLinks, small_dir: Path | None, tmp_path: Path) -> None:
    """As many rounds as requested, with up to three faults each; a failing one does not end the rest."""
    first, number = int(os.environ.get("FIRST_ROUND", "1")), int(os.environ.get("ROUNDS", "3"))
    failed: dict[int, str] = {}
    records = 0
    for seed in range(first, first + number):
        folder = tmp_path / str(seed)
        folder.mkdir()
        for stage in make_stage(linked_brokers, folder):
            played = Round(stage, links, seed, small_dir)
            try:
                records += played.run()
            except Exception as error:  # noqa: BLE001 - the other rounds are to be played whatever it is
                failed[seed] = f"{type(error).__name__}: {error}"
            story = "\n  ".join(played.story)
            _say(f"round {seed}: {failed.get(seed, 'passed')}\n  {story}")
    _say(f"rounds {first} to {first + number - 1}: {len(failed)} failed; {records} records acknowledged")
    assert failed == {}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
