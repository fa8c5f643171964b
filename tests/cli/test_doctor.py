"""``kafkabal doctor`` without a cluster, and with one that does not respond."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkabal.clusters as clusters_room
from kafkabal.errors import ExitCode, UnreachableError


def test_without_a_cluster_only_the_host_is_checked(run_cli: Callable[..., Any]) -> None:
    """Without a cluster only the host is checked, which the output says; exit 0."""
    found = run_cli("doctor", "-o", "json")
    assert found.code == ExitCode.DONE
    assert {check["area"] for check in json.loads(found.out)["checks"]} == {"host"}
    assert "no cluster given" in found.err


def test_a_cluster_that_does_not_answer(run_cli: Callable[..., Any]) -> None:
    """Exit 3: each bootstrap server has its reason and a hint; the other checks are skipped."""
    found = run_cli("doctor", "-b", "127.0.0.1:1,127.0.0.1:2", "-o", "json")
    assert found.code == ExitCode.FINDINGS
    document = json.loads(found.out)
    assert document["findings"] == 2
    servers = [check for check in document["checks"] if check["status"] == "failed"]
    assert [check["check"] for check in servers] == [
        "bootstrap server 127.0.0.1:1",
        "bootstrap server 127.0.0.1:2",
    ]
    assert all("connection refused" in check["detail"] and check["hint"] for check in servers)
    assert document["checks"][-1]["status"] == "not checked"


def test_a_zookeeper_that_does_not_answer(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a finding beside those of this host, not the end of all checks."""

    def silent(*_: Any) -> None:
        raise UnreachableError("ZooKeeper at zk:1 did not respond", hint="check the address")

    monkeypatch.setattr(clusters_room, "connect", silent)
    found = run_cli("doctor", "--zookeeper", "zk:1", "-o", "json")
    assert found.code == ExitCode.FINDINGS
    first, *others = json.loads(found.out)["checks"]
    assert (first["area"], first["detail"]) == ("network", "ZooKeeper at zk:1 did not respond")
    assert {check["area"] for check in others} == {"host"}


def test_hints_are_printed_below_the_table(run_cli: Callable[..., Any]) -> None:
    """Each finding has one hint."""
    found = run_cli("doctor", "-b", "127.0.0.1:1", environ={"COLUMNS": "200"})
    assert found.out.splitlines()[0] == "1 finding in 14 checks"
    assert found.out.splitlines()[-1].startswith("bootstrap server 127.0.0.1:1: check that the broker is running")


@pytest.mark.parametrize("words", [("--for", "produce"), ("--snapshot", "x.jsonl"), ("-b", "nonsense")])
def test_invalid_arguments(run_cli: Callable[..., Any], words: tuple[str, ...]) -> None:
    """Usage errors end like those of other commands."""
    assert run_cli("doctor", *words).code == ExitCode.USAGE


def test_a_dead_broker_is_the_first_finding(run_cli: Callable[..., Any]) -> None:
    """Findings come first, in lines that fit a small terminal."""
    environ = {"KAFKABAL_SNAPSHOT": str(Path(__file__).parent / "snapshots" / "broken.jsonl"), "COLUMNS": "80"}
    found = run_cli("doctor", environ=environ)
    first = next(line for line in found.out.splitlines() if line.startswith(("ok", "warning", "failed", "note")))

    assert found.code == 3
    assert first.startswith("warning  cluster  dead brokers")
    assert "dead brokers: start them, or see 'kafkabal help dead-broker'" in found.out
