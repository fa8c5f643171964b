"""The example in the documentation: it learns, and continues after a kill."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kafkabal.sandbox import Sandbox

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_images"
EACH, EPOCHS = 150, 16


def _run(*words: str | Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
    )


def _done(process: subprocess.Popen[str]) -> str:
    with process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    return out


# a network in plain numpy and five processes to start: this takes minutes on a busy machine
@pytest.mark.timeout(900)
def test_the_network_learns_through_a_kill(three_brokers: Sandbox, tmp_path: Path) -> None:
    """Killed in the middle and restarted, the example sees the remaining samples, and ends above 85%."""
    topic, profile = f"shapes-{os.getpid()}", str(three_brokers.profile_path)
    kafkabal = ("-m", "kafkabal.cli.main")
    _done(_run(EXAMPLE / "make_images.py", tmp_path / "shapes", "--each", str(EACH), folder=tmp_path))
    _done(_run(*kafkabal, "create", topic, "-p", "6", "-r", "1", "--profile", profile, folder=tmp_path))
    _done(_run(*kafkabal, "produce", topic, tmp_path / "shapes", "--profile", profile, folder=tmp_path))
    saved = tmp_path / "shapes.npz"
    train = (EXAMPLE / "train.py", topic, "--profile", profile, "--epochs", str(EPOCHS), "--checkpoint", saved)
    first = _run(*train, folder=tmp_path)
    while not saved.exists() and first.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    first.kill()
    first.communicate()
    with np.load(saved) as file:
        state = json.loads(str(file["state"]))
    had = state["epoch"] * 3 * EACH + state["taken"]
    out = _done(_run(*train, folder=tmp_path))
    samples = re.search(r"^(\d+) samples in", out, re.MULTILINE)
    assert samples is not None
    assert int(samples[1]) == EPOCHS * 3 * EACH - had
    *_, last = re.findall(r"learning from it: ([\d.]+)", out)
    assert float(last) > 0.85
