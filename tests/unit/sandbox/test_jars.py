"""Jars are fetched once, always verified, and never used if they are not the locked ones."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.errors import OperationError
from kafkabal.sandbox import jars
from kafkabal.sandbox.pinned_jars import LockedJar

CONTENT = b"classes"
JAR = LockedJar("g", "a", "1", hashlib.sha256(CONTENT).hexdigest())


class FakeMaven:
    """Stands in for jgo: serves ``served`` for every jar and counts the requests."""

    def __init__(self, served: bytes | Exception) -> None:
        self.served = served
        self.fetches = 0

    def module(self, name: str) -> Any:
        """Return the requested part of jgo."""
        settings = SimpleNamespace(load=lambda: SimpleNamespace(repositories={"mirror": "m"}))
        return {
            "jgo.config": SimpleNamespace(GlobalSettings=settings),
            "jgo.maven": SimpleNamespace(MavenContext=self._context),
        }[name]

    def _context(self, repo_cache: Path, remote_repos: dict[str, str] | None = None, timeout: int = 0) -> Any:
        def resolve() -> Path:
            self.fetches += 1
            if isinstance(self.served, Exception):
                raise self.served
            target = repo_cache / "fetched.jar"
            target.write_bytes(self.served)
            return target

        component = SimpleNamespace(artifact=lambda: SimpleNamespace(resolve=resolve))
        project = SimpleNamespace(at_version=lambda _version: component)
        return SimpleNamespace(project=lambda _group, _artifact: project, remote_repos=remote_repos or {"usual": "u"})


def _with(served: bytes | Exception, monkeypatch: pytest.MonkeyPatch) -> FakeMaven:
    maven = FakeMaven(served)
    monkeypatch.setattr(jars, "extra_module", maven.module)
    monkeypatch.setattr(jars, "read_lock", lambda _version: (JAR,))
    return maven


def test_a_jar_is_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second use needs no network, and the cache contains nothing else."""
    maven = _with(CONTENT, monkeypatch)
    first = jars.ensure_jars("4.1.2", tmp_path)
    assert jars.ensure_jars("4.1.2", tmp_path) == first
    assert maven.fetches == 1
    assert [path.read_bytes() for path in first] == [CONTENT]
    assert list((tmp_path / "jars").iterdir()) == list(first)


def test_a_damaged_jar_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cached jar with a wrong checksum is fetched again."""
    maven = _with(CONTENT, monkeypatch)
    (path,) = jars.ensure_jars("4.1.2", tmp_path)
    path.write_bytes(b"damaged")
    jars.ensure_jars("4.1.2", tmp_path)
    assert maven.fetches == 2
    assert path.read_bytes() == CONTENT


def test_a_jar_that_is_not_the_locked_one_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong checksum is an error that names the jar, and the jar is not cached."""
    _with(b"something else", monkeypatch)
    with pytest.raises(OperationError, match="checksum mismatch: g:a:1"):
        jars.ensure_jars("4.1.2", tmp_path)
    assert list((tmp_path / "jars").iterdir()) == []


@pytest.mark.parametrize("failure", [RuntimeError("not found\nin 3 places"), ConnectionError("no route")])
def test_a_jar_that_cannot_be_had_is_named(failure: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the network does, the user sees one line that names the jar."""
    _with(failure, monkeypatch)
    with pytest.raises(OperationError, match="cannot download g:a:1") as caught:
        jars.ensure_jars("4.1.2", tmp_path)
    assert "\n" not in caught.value.message
