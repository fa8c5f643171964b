"""Sessions that brokers expire after seconds (KIP-368): a run continues, and keeps its lock."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from kafkabal.plan.plan_file import write_plan
from tests.live.executor.conftest import SESSION_OF_A_TOKEN_S
from tests.live.executor.scenery import LONGEST_S
from tests.live.executor.stage import Stage

_CLIENT = """\
security.protocol=SASL_PLAINTEXT
sasl.mechanism=OAUTHBEARER
sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required \\
  unsecuredLoginStringClaim_sub="operator";
"""


def test_run_longer_than_its_sessions(stage: Stage, tmp_path: Path) -> None:
    """A run moves for three sessions and completes: no broker closed its connection, and the lock was not lost."""
    plan, client = tmp_path / "plan.json", tmp_path / "client.properties"
    write_plan(stage.plan, plan)
    client.write_text(_CLIENT)
    words = ("apply", str(plan), "--yes", "--force", "--throttle", "100kB", "--command-config", str(client))
    *command, _ = stage.command_line(*words)  # except for the address
    with subprocess.Popen(
        [*command, stage.sandbox.bootstrap_servers_of("SASL")],
        env=stage.environment_variables("one"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            stage.until(stage.in_flight)
            time.sleep(3 * SESSION_OF_A_TOKEN_S)
            stage.hasten()
            said, _ = process.communicate(timeout=LONGEST_S)
        finally:
            process.kill()
    assert process.returncode == 0, said
    assert not [word for word in ("lost", "not confirmed", "did not respond") if word in said], said
    stage.assert_as_planned()
