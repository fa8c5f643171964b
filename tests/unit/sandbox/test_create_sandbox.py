"""Sandboxes that cannot be created leave nothing behind."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest

from kafkabal.errors import OutputError, UsageError
from kafkabal.sandbox.create_sandbox import bring_up
from kafkabal.sandbox.node_layout import Node, Role
from kafkabal.sandbox.sandbox import lock_of
from kafkabal.sandbox.sandbox_locks import exclusive
from kafkabal.sandbox.sandbox_record import SandboxRecord, readable_records, write_record
from kafkabal.sandbox.sandbox_spec import SandboxSpec
from kafkabal.sandbox.wait_limit import WaitLimit


@pytest.mark.parametrize("module", ["jgo.config", "jgo.maven"])
def test_without_its_extra_no_record_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """If the extra is missing no record remains, which would be listed as a sandbox that is down."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match="missing Python package: jgo"):
        bring_up(tmp_path / "q", SandboxSpec(), tmp_path / "cache", wait_limit=WaitLimit(), on_step=lambda _step: None)
    assert list(readable_records(tmp_path)) == []
    assert not (tmp_path / "q").exists()


def test_a_sandbox_that_another_process_created_stays(tmp_path: Path) -> None:
    """A process that waited for the other one, and then fails, removes nothing that is not its own."""
    folder, cache = tmp_path / "q", tmp_path / "cache"
    cache.touch()  # so that preparing fails
    spec = SandboxSpec(brokers=1)

    def bring_up_too() -> None:
        bring_up(folder, spec, cache, wait_limit=WaitLimit(), on_step=lambda _step: None)

    with ThreadPoolExecutor(1) as pool:
        with exclusive(lock_of(folder)):
            waiting = pool.submit(bring_up_too)
            while not any(_is_waiting(frame) for frame in sys._current_frames().values()):
                pass
            folder.mkdir()
            nodes = (Node(1, Role.BROKER_AND_CONTROLLER, "r0", {"PLAINTEXT": 1}),)
            write_record(SandboxRecord("q", spec, "id", 0.0, nodes), folder)
        with pytest.raises(OutputError):
            waiting.result()
    assert [path for path, _ in readable_records(tmp_path)] == [folder]


def _is_waiting(frame: FrameType | None) -> bool:
    """Whether a thread is waiting for a lock file inside of :func:`bring_up`."""
    names = set()
    while frame is not None:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    return {"bring_up", "acquire_file_lock"} <= names
