"""Java programs of the sandbox are run with a timeout."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.errors import OperationError
from kafkabal.sandbox import java_programs


def test_a_program_that_hangs_is_named_by_its_main_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the main class, whatever the last argument is."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\nexec /bin/sleep 60\n", encoding="ascii")
    java.chmod(0o755)
    monkeypatch.setattr(java_programs, "java_binary", lambda: java)
    command = java_programs.java_command(
        "org.example.Tool", ["--describe"], [tmp_path / "tool.jar"], heap_bytes=2**26, scratch=tmp_path
    )
    with pytest.raises(OperationError, match=r"did not finish within 0\.05 s: org\.example\.Tool$"):
        java_programs.run_java(command, timeout_s=0.05)
