"""The folders of sandboxes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.errors import OutputError
from kafkabal.sandbox.sandbox_home import default_home, make_folder


def test_home_can_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment overrides the default folder."""
    monkeypatch.setenv("KAFKABAL_SANDBOX_HOME", "/somewhere/else")
    assert default_home() == Path("/somewhere/else")
    monkeypatch.delenv("KAFKABAL_SANDBOX_HOME")
    assert default_home().parts[-2:] == ("kafkabal", "sandboxes")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A folder that cannot be created is named with the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot create the folder .*file/below: a folder on its path is a file"):
        make_folder(tmp_path / "file" / "below")
