"""The cause of an exit is found in the output."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.sandbox.exit_diagnosis import cause_of_end, last_lines, mark_start, ran_out_of_memory

START = "--- started by the sandbox ---\n"


@pytest.mark.parametrize(
    ("printed", "cause"),
    [
        ("", "exited without an error message"),
        ("[2026] INFO all is well (kafka)\n", "exited without an error message"),
        ("[2026] ERROR Exiting Kafka (kafka.Kafka$)\n[2026] INFO bye\n", "Exiting Kafka (kafka.Kafka$)"),
        (
            "[2026] ERROR Exiting (kafka.Kafka$)\norg.apache.kafka.ConfigException: Invalid value\n\tat x",
            "org.apache.kafka.ConfigException: Invalid value",
        ),
        (
            "[2026] ERROR Fatal (x)\nx.IOException: outer\n\tat x\nCaused by: java.net.BindException: in use\n\tat y",
            "java.net.BindException: in use",
        ),
        (
            "Unrecognized VM option 'X'\nError: Could not create the Java Virtual Machine.\nError: A fatal exception",
            "Unrecognized VM option 'X'",
        ),
        ('Exception in thread "main" java.lang.Error: no', 'Exception in thread "main" java.lang.Error: no'),
        (f"{START}[2026] ERROR earlier\n{START}[2026] INFO later\n", "exited without an error message"),
        ("[2026] ERROR " + "x" * 1000, "x" * 299 + "…"),
    ],
)
def test_cause(printed: str, cause: str, tmp_path: Path) -> None:
    """The last error is the cause, and of a nested exception the innermost."""
    log = tmp_path / "node.log"
    log.write_text(printed)
    assert cause_of_end(log) == cause


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Terminating due to java.lang.OutOfMemoryError: Java heap space\n", True),
        (f"Terminating due to java.lang.OutOfMemoryError: Java heap space\n{START}", False),
        ("[2026] WARN java.lang.OutOfMemoryError is mentioned\n", False),
    ],
)
def test_out_of_memory(printed: str, expected: bool, tmp_path: Path) -> None:
    """An out-of-memory error counts only if it belongs to the last start."""
    log = tmp_path / "node.log"
    log.write_text(printed)
    assert ran_out_of_memory(log) is expected


def test_output_of_an_earlier_start_is_kept(tmp_path: Path) -> None:
    """A log covers all starts, and a long one is read from its end."""
    log = tmp_path / "node.log"
    log.write_text("x" * 300_000 + "\nbefore\n")
    mark_start(log)
    assert last_lines(log, 2) == ["before", START.strip()]
    assert last_lines(log, 0) == []
    assert last_lines(Path("/nowhere"), 5) == []
