"""Fetches the jars of Apache Kafka and of a Java compiler once, and verifies their checksums before every use."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from kafkabal.errors import OperationError
from kafkabal.sandbox.extra_packages import extra_module
from kafkabal.sandbox.pinned_jars import LockedJar, read_lock
from kafkabal.sandbox.sandbox_home import make_folder
from kafkabal.sandbox.sandbox_locks import exclusive
from kafkabal.sandbox.sandbox_spec import DEFAULT_KAFKA_VERSION
from kafkabal.wording import counted_noun

_PARALLEL_DOWNLOADS: Final = 8
"""Most jars are small, so the latency of each request dominates."""
_CLIENT_ARTIFACTS: Final = frozenset({"kafka-clients", "slf4j-api"})
# the sandbox's Java runtime has no compiler
_COMPILER: Final = LockedJar(
    "org.eclipse.jdt", "ecj", "3.40.0", "05cc22a24e7982970f63a405fc6c820bc80b806f27f3c5a6236fc475f8f7152b"
)


def ensure_jars(
    kafka_version: str, cache_folder: Path, *, on_step: Callable[[str], None] = lambda _step: None
) -> tuple[Path, ...]:
    """The verified jars of a Kafka version in the order of its lock file; fetches those not in the cache.

    Raises
    ------
    UsageError
        If no lock file is shipped for that version, or the extra ``sandbox`` is not installed.
    OperationError
        If a jar cannot be fetched, or does not match the checksum in the lock file.
    """
    return ensure_locked(read_lock(kafka_version), cache_folder, on_step=on_step)


def ensure_client_jars(cache_folder: Path, *, on_step: Callable[[str], None] = lambda _step: None) -> tuple[Path, ...]:
    """The verified jars that a client plug-in is compiled against; fetches those not in the cache.

    Raises
    ------
    UsageError
        If the extra ``sandbox`` is not installed.
    OperationError
        If a jar cannot be fetched, or does not match the checksum in the lock file.
    """
    jars = [jar for jar in read_lock(DEFAULT_KAFKA_VERSION) if jar.artifact in _CLIENT_ARTIFACTS]
    return ensure_locked(jars, cache_folder, on_step=on_step)


def ensure_java_compiler(cache_folder: Path, *, on_step: Callable[[str], None] = lambda _step: None) -> Path:
    """The verified jar of the Eclipse compiler for Java; fetches it if it is not in the cache.

    Raises
    ------
    UsageError
        If the extra ``sandbox`` is not installed.
    OperationError
        If it cannot be fetched, or does not match its checksum.
    """
    (jar,) = ensure_locked([_COMPILER], cache_folder, on_step=on_step)
    return jar


def ensure_locked(
    jars: Sequence[LockedJar], cache_folder: Path, *, on_step: Callable[[str], None] = lambda _step: None
) -> tuple[Path, ...]:
    """These jars, verified and in this order; fetches those not in the cache.

    Raises
    ------
    UsageError
        If the extra ``sandbox`` is not installed.
    OperationError
        If a jar cannot be fetched, or does not match the checksum in the lock file.
    """
    folder = make_folder(cache_folder / "jars")
    if missing := _unusable(jars, folder):
        with exclusive(folder / "fetch.lock"):
            _fetch_all(_unusable(missing, folder), folder, on_step)
    return tuple(folder / jar.file_name for jar in jars)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unusable(jars: Sequence[LockedJar], folder: Path) -> list[LockedJar]:
    """The jars that are missing or damaged."""
    return [jar for jar in jars if not _is_intact(jar, folder / jar.file_name)]


def _is_intact(jar: LockedJar, path: Path) -> bool:
    return path.is_file() and sha256_of(path) == jar.sha256


def _fetch_all(jars: Sequence[LockedJar], folder: Path, on_step: Callable[[str], None]) -> None:
    if not jars:
        return
    from concurrent.futures import ThreadPoolExecutor

    on_step(f"downloading {counted_noun(len(jars), 'jar')}")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        context = _maven_context(Path(scratch))
        with ThreadPoolExecutor(_PARALLEL_DOWNLOADS) as pool:
            list(pool.map(lambda jar: _fetch(jar, folder, context), jars))


def _maven_context(scratch: Path) -> Any:
    """A resolver that tries the repositories of the user's jgo configuration before the default one."""
    settings = extra_module("jgo.config").GlobalSettings.load()
    maven = extra_module("jgo.maven")
    usual = maven.MavenContext(repo_cache=scratch).remote_repos
    return maven.MavenContext(repo_cache=scratch, remote_repos={**settings.repositories, **usual}, timeout=30)


def _fetch(jar: LockedJar, folder: Path, context: Any) -> None:
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    try:
        fetched = Path(component.artifact().resolve())
    except (OSError, RuntimeError) as error:  # the errors of requests are OSErrors
        reason = _first_line(error)
        raise OperationError(
            f"cannot download {jar.coordinate}: {reason}",
            hint="behind a proxy with a certificate of its own, set REQUESTS_CA_BUNDLE to the file of its CA"
            if "CERTIFICATE_VERIFY_FAILED" in reason
            else "the first sandbox of a Kafka version requires network access",
        ) from error
    if (found := sha256_of(fetched)) != jar.sha256:
        raise OperationError(
            f"checksum mismatch: {jar.coordinate} ({found[:12]}…, expected {jar.sha256[:12]}…)",
            hint="the jar is not used; check the repositories configured for jgo",
        )
    fetched.replace(folder / jar.file_name)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
