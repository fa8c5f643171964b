"""Folders and extras of a host."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kafkabal.doctor import CheckStatus, check_extras, check_folders


def test_a_folder_that_is_there_or_can_be_made(tmp_path: Path) -> None:
    """Nothing is created for it."""
    (check,) = check_folders({"state": tmp_path / "a" / "b"})
    assert check.status is CheckStatus.OK
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file is in its place, and is named."""
    (tmp_path / "a").touch()
    (check,) = check_folders({"state": tmp_path / "a" / "b"})
    assert check.status is CheckStatus.FAILED
    assert check.detail == f"{tmp_path / 'a' / 'b'}: {tmp_path / 'a'} is not a folder"
    assert "XDG_STATE_HOME" in check.hint


def test_a_folder_that_cannot_be_looked_up(tmp_path: Path) -> None:
    """A folder whose very existence is unknown is a finding, not the end of all checks."""
    (check,) = check_folders({"state": tmp_path / ("a" * 256) / "b"})
    assert check.status is CheckStatus.FAILED
    assert check.detail == f"{tmp_path / ('a' * 256) / 'b'}: File name too long"


def test_a_folder_that_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Profiles may come from a read-only place, as in a container: a note, with nothing to do."""
    monkeypatch.setattr("os.access", lambda *_: False)
    checks = check_folders({"state": tmp_path, "config": tmp_path}, may_be_read_only={"config"})
    assert [check.status for check in checks] == [CheckStatus.FAILED, CheckStatus.NOTE]


def test_a_missing_extra_is_not_a_finding() -> None:
    """It says what the extra is for, and how to get it."""
    checks = {check.what: check for check in check_extras(lambda module: module != "pyarrow")}
    assert checks["extra parquet"].status is CheckStatus.NOTE
    assert checks["extra parquet"].detail.endswith("pip install 'kafkabal[parquet]'")
    assert checks["extra sandbox"].status is CheckStatus.OK


def test_every_extra_of_users_is_checked() -> None:
    """An extra added to the package is added to the checks; those of maintainers are not."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"]) - {"dev", "mutation"}
    assert {check.what.removeprefix("extra ") for check in check_extras()} == extras
