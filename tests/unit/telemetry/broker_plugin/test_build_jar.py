"""The plug-in's build: the jars on its class path, and a failing compiler."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kafkabal.errors import InputFileError, OperationError
from kafkabal.telemetry.broker_plugin.build_jar import build_plugin, kafka_jars


def jar_with(path: Path, name: str) -> Path:
    """A jar that contains one empty class."""
    with zipfile.ZipFile(path, "w") as content:
        content.writestr(name, b"")
    return path


def test_jars_of_folders_and_single_jars(tmp_path: Path) -> None:
    """A folder stands for its jars, sorted by name; its other files are ignored."""
    (tmp_path / "libs").mkdir()
    b = jar_with(tmp_path / "libs" / "b.jar", "B.class")
    a = jar_with(tmp_path / "libs" / "a.jar", "org/apache/kafka/server/telemetry/ClientTelemetry.class")
    (tmp_path / "libs" / "notes.txt").write_text("")
    c = jar_with(tmp_path / "c.jar", "C.class")
    assert kafka_jars([c, tmp_path / "libs"]) == (c, a, b)


def test_jars_without_client_telemetry_are_refused(tmp_path: Path) -> None:
    """A folder without Kafka, or with too old a Kafka, is named."""
    jar_with(tmp_path / "a.jar", "A.class")
    with pytest.raises(InputFileError, match="no Kafka with client telemetry found") as caught:
        kafka_jars([tmp_path])
    assert "3.7" in (caught.value.hint or "")


def test_invalid_jars_are_refused(tmp_path: Path) -> None:
    """A damaged or missing jar is named."""
    (tmp_path / "a.jar").write_bytes(b"no jar")
    with pytest.raises(InputFileError, match=r"a\.jar: not a jar"):
        kafka_jars([tmp_path])
    with pytest.raises(InputFileError, match="no such file or folder"):
        kafka_jars([tmp_path / "b.jar"])


def test_a_compiler_that_fails_leaves_no_jar(tmp_path: Path) -> None:
    """The compiler's output is shown, and an existing jar stays unchanged."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
    java.chmod(0o755)
    jar = tmp_path / "plugin.jar"
    jar.write_bytes(b"older")
    with pytest.raises(OperationError, match="does not compile against these jars:\nno luck"):
        build_plugin(jar, [], java=java, compiler=tmp_path / "ecj.jar")
    assert jar.read_bytes() == b"older"


def test_a_java_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """A missing Java runtime is an operation error, not a traceback."""
    with pytest.raises(OperationError, match="cannot run the Java compiler"):
        build_plugin(tmp_path / "x.jar", [], java=tmp_path / "java", compiler=tmp_path / "ecj.jar")
