"""The shipped lock files list exactly what is run, and nothing else."""

from __future__ import annotations

from importlib import resources

import pytest

from kafkabal.errors import UsageError
from kafkabal.sandbox.pinned_jars import locked_versions, read_lock


def test_versions_are_numbered_not_spelled() -> None:
    """Versions are listed from the oldest to the newest, in numerical order."""
    assert locked_versions() == ("3.9.2", "4.1.2", "4.3.1", "4.4.0")


@pytest.mark.parametrize("version", locked_versions())
def test_a_lock_holds_server_tools_and_log_binding_of_one_version(version: str) -> None:
    """Kafka's own jars all have the version of the lock: a client library of another version would not start."""
    jars = {jar.artifact: jar for jar in read_lock(version)}
    assert {"kafka_2.13", "kafka-clients", "kafka-tools", "log4j-slf4j-impl"} <= set(jars)
    assert {jar.version for jar in jars.values() if jar.group == "org.apache.kafka"} == {version}
    assert ("zookeeper" in jars) == (version == "3.9.2")


@pytest.mark.parametrize("version", locked_versions())
def test_a_lock_names_packages_and_checksums_only(version: str) -> None:
    """Lock files do not record where a jar was fetched from."""
    text = (resources.files("kafkabal.sandbox") / "locks" / f"kafka-{version}.lock").read_text(encoding="ascii")
    assert "/" not in text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert [jar.as_line() for jar in read_lock(version)] == lines
    assert all(len(jar.sha256) == 64 for jar in read_lock(version))


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    """An unknown version is refused, and the error lists the locked ones."""
    with pytest.raises(UsageError, match=r"unsupported Kafka version: 2\.8") as caught:
        read_lock("2.8")
    assert "4.1.2" in (caught.value.hint or "")
