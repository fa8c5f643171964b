"""Sandboxes are found by name, and the current one by its listening brokers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kafkabal.config.profiles import load_profile
from kafkabal.errors import UsageError
from kafkabal.sandbox import (
    Node,
    Role,
    SandboxSpec,
    find_sandbox,
    list_sandboxes,
    sandboxes_up,
    take_down,
    up,
)
from kafkabal.sandbox.sandbox_profile import write_profile
from kafkabal.sandbox.sandbox_record import SandboxRecord, write_record


def _recorded(home: Path, name: str, *, port: int = 1, created_at_s: float = 0.0) -> SandboxRecord:
    nodes = (Node(1, Role.BROKER_AND_CONTROLLER, "r0", {"PLAINTEXT": port}),)
    record = SandboxRecord(name, SandboxSpec(brokers=1), "id", created_at_s, nodes)
    (home / name).mkdir(parents=True)
    write_record(record, home / name)
    return record


def test_names_are_plain(tmp_path: Path) -> None:
    """A name that would leave the folder of sandboxes, or be hidden in it, is refused."""
    for name in ("", "../x", ".hidden", "A", "x" * 41, "a b"):
        with pytest.raises(UsageError, match="invalid sandbox name"):
            up(SandboxSpec(), name, home=tmp_path)


def test_a_home_in_a_folder_of_another_user_is_named(tmp_path: Path) -> None:
    """Whether there are sandboxes is then unknown."""
    home = tmp_path / ("a" * 256)
    with pytest.raises(UsageError, match="cannot read"):
        list_sandboxes(home=home)
    with pytest.raises(UsageError, match="cannot read"):
        find_sandbox("mine", home=home)


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    """An unknown name is refused; the error lists the known sandboxes, or says how to create one."""
    with pytest.raises(UsageError) as caught:
        find_sandbox("mine", home=tmp_path)
    assert caught.value.hint == "start one with 'kafkabal sandbox up'"
    _recorded(tmp_path, "theirs")
    with pytest.raises(UsageError) as caught:
        take_down("mine", home=tmp_path)
    assert caught.value.hint == "choose from: theirs"


def test_a_damaged_sandbox_can_be_removed(tmp_path: Path) -> None:
    """A sandbox with an unreadable record can be removed."""
    _recorded(tmp_path, "mine")
    (tmp_path / "mine" / "sandbox.json").write_text("")
    take_down("mine", home=tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert list_sandboxes(home=tmp_path) == []


def test_a_home_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    """Listing sandboxes creates no folder."""
    home = tmp_path / "home"
    assert list_sandboxes(home=home) == []
    assert sandboxes_up(home=home) == []
    assert not home.exists()


def test_the_newest_listener_is_first(tmp_path: Path) -> None:
    """Listening sandboxes are listed newest first; those that are down or damaged are skipped."""
    with socket.create_server(("127.0.0.1", 0)) as old, socket.create_server(("127.0.0.1", 0)) as new:
        _recorded(tmp_path, "old", port=old.getsockname()[1], created_at_s=1)
        _recorded(tmp_path, "new", port=new.getsockname()[1], created_at_s=2)
        _recorded(tmp_path, "down", created_at_s=3)
        _recorded(tmp_path, "damaged", created_at_s=4)
        (tmp_path / "damaged" / "sandbox.json").write_text("")
        assert sandboxes_up(home=tmp_path) == [tmp_path / name / "profile.yaml" for name in ("new", "old")]
    assert sandboxes_up(home=tmp_path) == []


def test_the_profile_is_one_that_kafkabal_reads(tmp_path: Path) -> None:
    """All keys of the profile are known settings."""
    record = _recorded(tmp_path, "mine")
    target = tmp_path / "profile.yaml"
    write_profile(record, tmp_path / "mine", target)
    profile = load_profile(str(target), tmp_path / "none.yaml")
    assert profile is not None
    assert set(profile.settings) == {"bootstrap_servers", "capacity", "volumes"}
