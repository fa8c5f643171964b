"""Where runs work: the names of their journals, ids that sort by time, and when they must end."""

from __future__ import annotations

import getpass
import math
from typing import Any

import pytest

from kafkabal.executor.run_environment import RunEnvironment, _user
from kafkabal.executor.safety.lock_holder import LockHolder
from kafkabal.isolated_listeners import IsolatedListener


def test_a_run_id_sorts_after_all_earlier_ones(scene: Any) -> None:
    """By this host's clock, or a second after its latest journal if the clock was set back; other files do not
    count."""
    environment = scene.environment()
    folder = environment.folder("c")
    folder.mkdir(parents=True)
    now = environment.clock.utc_now()
    assert environment.new_run_id("c") == f"{now:%Y%m%dT%H%M%S}-x"
    for name in ("old.jsonl", "20200101T000000-a.jsonl", "29991231T235958-b.txt"):
        (folder / name).touch()
    assert environment.new_run_id("c") == f"{now:%Y%m%dT%H%M%S}-x"
    (folder / "29991231T235958-b.jsonl").touch()
    assert environment.new_run_id("c") == "29991231T235959-x"
    assert environment.new_run_id("another") == f"{now:%Y%m%dT%H%M%S}-x"


def test_ids_of_the_same_second_differ(scene: Any) -> None:
    """Two ids made in the same second differ in a random suffix of six characters."""
    environment = RunEnvironment(cluster=scene.memory, state_dir=scene.folder, clock=scene.memory.kafka.clock)
    first, second = environment.new_run_id("c"), environment.new_run_id("c")
    assert first != second
    assert len(first.partition("-")[2]) == 6


def test_the_journal_of_a_run(scene: Any) -> None:
    """In a folder for each cluster, whose id may not lead elsewhere."""
    environment = scene.environment()
    assert environment.journal_path("c", "r") == scene.folder / "one" / "c" / "r.jsonl"
    for strange in ("../x", "a/b", "", "\ud800"):
        folder = environment.folder(strange)
        assert (folder.parent, len(folder.name)) == (scene.folder / "one", 64)


@pytest.mark.parametrize(
    ("ends_at_s", "max_runtime_s", "expected_s"),
    [(None, None, math.inf), (None, 10.0, 10.0), (7.0, None, 7.0), (7.0, 10.0, 7.0)],
)
def test_when_a_run_must_end(
    scene: Any, ends_at_s: float | None, max_runtime_s: float | None, expected_s: float
) -> None:
    """By the time of the environment, otherwise by the run's own limit from now on."""
    began_s = scene.memory.kafka.clock.monotonic()
    ends = scene.environment(ends_at_s=None if ends_at_s is None else began_s + ends_at_s)
    assert ends.time_limit_s(max_runtime_s) == began_s + expected_s


def test_the_holder_of_the_lock(scene: Any) -> None:
    """As it was given, or this process."""
    assert scene.environment().owner == "kafkabal on one (process 1)"
    environment = RunEnvironment(cluster=scene.memory, state_dir=scene.folder, host="here")
    assert environment.owner == str(LockHolder.current("here"))


def test_a_state_is_read_as_configured(scene: Any) -> None:
    """Within the timeout of a broker, and completed with what the configuration says."""
    read = []
    environment = scene.environment(broker_timeout_s=3.0, completed=lambda state: read.append(state) or "completed")
    assert environment.read_state() == "completed"
    assert len(read) == 1
    assert [call.arguments[0].deadline_s for call in scene.faulty.calls if call.method == "read"] == [3.0]


def test_a_listener_is_isolated_once(scene: Any) -> None:
    """An error of the listener must not end the run."""
    environment = scene.environment()
    assert isinstance(environment.listener, IsolatedListener)
    listener = environment.listener
    again = RunEnvironment(cluster=scene.memory, state_dir=scene.folder, listener=listener)
    assert again.listener is listener


@pytest.mark.parametrize("error", [KeyError("uid"), OSError("no name")])
def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """As in some containers: the run has none, and is not refused."""

    def nameless() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert _user() == ""
