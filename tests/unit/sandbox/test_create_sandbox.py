"""Sandboxes that cannot be created leave nothing behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafkabal.errors import UsageError
from kafkabal.sandbox.create_sandbox import bring_up
from kafkabal.sandbox.sandbox_record import readable_records
from kafkabal.sandbox.sandbox_spec import SandboxSpec
from kafkabal.sandbox.wait_until import WaitLimit


@pytest.mark.parametrize("module", ["jgo.config", "jgo.maven"])
def test_without_its_extra_no_record_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """If the extra is missing no record remains, which would be listed as a sandbox that is down."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match="missing Python package: jgo"):
        bring_up(tmp_path / "q", SandboxSpec(), tmp_path / "cache", wait_limit=WaitLimit(), on_step=lambda _step: None)
    assert list(readable_records(tmp_path)) == []
    assert not (tmp_path / "q").exists()
