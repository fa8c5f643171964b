"""Folders and extras of a host."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import kafkabal
from kafkabal.config import Settings
from kafkabal.doctor import CheckStatus, check_extras, check_folders, host_checks


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


def test_a_file_in_place_of_the_folder_of_runs_is_found(tmp_path: Path) -> None:
    """The state folder can be written, but no journal in it; a dangling symbolic link is not a folder."""
    (tmp_path / "history").symlink_to(tmp_path / "nowhere")
    (tmp_path / "runs").touch()
    (tmp_path / "produce").mkdir()
    whole, *parts = check_folders({"state": tmp_path})
    assert whole.status is CheckStatus.OK
    assert [check.status for check in parts] == [CheckStatus.FAILED] * 2
    assert [check.detail for check in parts] == [f"{tmp_path / name} is not a folder" for name in ("history", "runs")]


def test_a_folder_of_runs_of_another_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a run with sudo, which has created it."""
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr("os.access", lambda path, _: path != tmp_path / "runs")
    found = [check.detail for check in check_folders({"state": tmp_path}) if check.status.is_finding]
    assert found == [f"{tmp_path / 'runs'} cannot be written"]


def test_every_folder_in_the_state_folder_is_checked() -> None:
    """A folder that the package creates there is one that the checks know."""
    package = Path(kafkabal.__file__).parent
    named = (re.findall(r'state_(?:dir|folder) / "([a-z-]+)"', path.read_text()) for path in package.rglob("*.py"))
    created = {*chain.from_iterable(named), *(Settings(snapshot=file).runs_folder_name for file in (None, Path("s")))}
    assert created >= {"history", "runs"}
    assert created | {"watch"} == set(host_checks._OF_STATE)


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
