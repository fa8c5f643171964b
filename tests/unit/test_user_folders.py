"""Folders of the user of this process."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from kafkabal.errors import ConfigError
from kafkabal.user_folders import cluster_folder, user_folder


def test_folders_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """XDG variables decide, then HOME."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert user_folder("state") == tmp_path / "state" / "kafkabal"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_folder("state").is_relative_to(tmp_path)


def _raise(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize("is_early", [False, True])
def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, is_early: bool) -> None:
    """A container's user without a name is told what to set; an earlier platformdirs would put files into './~'."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: _raise(KeyError(uid)))
    if is_early:
        monkeypatch.setattr(platformdirs, "user_config_dir", lambda _: "~/.config/kafkabal")

    with pytest.raises(ConfigError, match="cannot find the config folder: HOME is not an absolute path") as refused:
        user_folder("config")

    assert (refused.value.hint or "").startswith("set HOME, or XDG_CONFIG_HOME")


@pytest.mark.parametrize("cluster_id", ["", ".", "..", "../other", "/etc", "a\0b", "中" * 90, "x" * 300, "\ud800"])
def test_an_id_from_outside_leads_to_no_other_folder(tmp_path: Path, cluster_id: str) -> None:
    """Whatever a snapshot calls its cluster, it gets a folder of its own, whose name the file system takes."""
    folder = cluster_folder(tmp_path, cluster_id)
    folder.mkdir()
    assert (folder.parent, folder.name.isalnum()) == (tmp_path, True)


def test_a_plain_id_is_the_name_of_its_folder(tmp_path: Path) -> None:
    """An operator finds the journals of a cluster by its id."""
    assert cluster_folder(tmp_path, "Mk-3_x.y") == tmp_path / "Mk-3_x.y"
