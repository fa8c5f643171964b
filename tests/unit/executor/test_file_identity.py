"""Whether an open file is still the one of its name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkabal.executor.file_identity import is_missing, is_still_named


def test_files_that_were_deleted_replaced_or_moved(tmp_path: Path) -> None:
    """Deleted with its folder, replaced by another, or in a folder of another name: the name is no longer its own."""
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.touch()
    opened = path.stat()
    assert (is_missing(path), is_still_named(path, opened)) == (False, True)
    path.rename(tmp_path / "kept")
    assert (is_missing(path), is_still_named(path, opened)) == (True, False)
    path.touch()
    assert (is_missing(path), is_still_named(path, opened)) == (False, False)
    path.unlink()
    path.parent.rmdir()
    path.parent.touch()
    assert (is_missing(path), is_still_named(path, opened)) == (True, False)


def test_folder_that_may_not_be_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be known is no reason to write a file again, nor to give up a lock."""
    opened = tmp_path.stat()

    def refuse(*_: object, **__: object) -> os.stat_result:
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    assert (is_missing(tmp_path), is_still_named(tmp_path, opened)) == (False, True)
