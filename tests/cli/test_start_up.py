"""What a command imports before it asks the first broker: operators wait for it, and cron jobs pay for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkabal.errors import ExitCode

_SCRIPT = """
import json, sys
from kafkabal.cli.main import main
code = main(json.loads(sys.argv[1]))
heavy = {"numpy", "confluent_kafka", "httpx", "jinja2", "prometheus_client", "matplotlib"}
print(json.dumps([code, sorted(heavy & sys.modules.keys())]))
"""


@pytest.mark.parametrize(
    "command",
    [
        "inspect",
        "advise",
        "create images",
        "rebalance plan",
        "rebalance status",
        "rebalance history",
        "rebalance pause",
        "rebalance throttle 10MB",
        "telemetry list",
    ],
)
def test_nothing_heavy_before_the_first_broker(command: str, tmp_path: Path) -> None:
    """Neither numpy nor what only some outputs need is imported where no broker can be reached."""
    environ = os.environ | {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("STATE", "CACHE", "CONFIG")}
    words = [*command.split(), "-b", "127.0.0.1:1"]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(words)], capture_output=True, text=True, check=True, env=environ
    )
    assert json.loads(done.stdout) == [ExitCode.FAILED, []]
