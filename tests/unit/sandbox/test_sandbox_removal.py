"""What is said if a sandbox cannot be removed."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from kafkabal.errors import OutputError
from kafkabal.sandbox.sandbox import remove_sandbox


def test_a_folder_that_cannot_be_removed_is_named_with_its_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system names what is below a folder by its bare name, which could be anywhere."""

    def refuse(_: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), "d0")

    (tmp_path / "box" / "1").mkdir(parents=True)
    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(OutputError, match=f"^cannot remove {tmp_path / 'box'}: d0: "):
        remove_sandbox(tmp_path / "box")
