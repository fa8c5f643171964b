"""An isolated command line: no terminal, an empty environment, folders below the test's own."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.plan.plan_file import write_plan
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from tests.output_schemas import check_output


class FakeTerminal(io.StringIO):
    """A stream that claims to be a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        """Claim to be a terminal."""
        return True


class FakePipe(io.StringIO):
    """A stream to a file or a pipe."""

    encoding = "utf-8"


@dataclass(frozen=True)
class Outcome:
    """The results of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_cli(tmp_path: Path) -> Callable[..., Outcome]:
    """Run a command line, and check its machine-readable output against its schema.

    ``environ``, ``stdin`` (of a terminal) and ``terminal`` define its environment."""

    def run(
        *words: str,
        environ: dict[str, str] | None = None,
        stdin: str | None = None,
        terminal: bool = False,
        **world: Any,
    ) -> Outcome:
        stream = FakeTerminal if terminal else FakePipe
        out, err = stream(), stream()
        context = CommandContext(
            stdin=FakeTerminal(stdin) if stdin is not None else FakePipe(),
            stdout=out,
            stderr=FakeTerminal() if stdin is not None else err,
            environ=environ or {},
            folders={kind: tmp_path / kind for kind in ("config", "cache", "state")},
            **world,
        )
        code = main(words, context)
        check_output(words, code, out.getvalue())
        return Outcome(code, out.getvalue(), context.stderr.getvalue())  # type: ignore[attr-defined]

    return run


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """Three brokers, the third of them empty."""
    path = tmp_path / "cluster.jsonl"
    write_snapshot(cluster(brokers(3, dirs=2), [topic("t", [1, 2], [2, 1], [1, 2])]), path)
    return path


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    """A plan that moves replicas to the third broker."""
    changes = tuple(
        PartitionChange(
            topic="t",
            partition=number,
            replicas=replicas,
            log_dirs=("/d1", ANY_DIR),
            previous=Placement(replicas=previous, leader=previous[0], log_dirs=("/d0", "/d0")),
            bytes=10**9,
        )
        for number, replicas, previous in ((0, (3, 2), (1, 2)), (1, (3, 1), (2, 1)))
    )
    path = tmp_path / "plan.json"
    write_plan(Plan(partitions=changes, cluster_id="simulated"), path)
    return path
