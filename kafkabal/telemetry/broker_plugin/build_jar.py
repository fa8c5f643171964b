"""Make a jar of the plug-in's Java source with the Eclipse compiler, which needs a Java runtime but no JDK."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from kafkabal.errors import InputFileError, OperationError
from kafkabal.files import replacing

REPORTER_CLASS: Final = "kafkabal.telemetry.TelemetryForwarder"
"""What ``metric.reporters`` of a broker is to name."""

_JAVA_LEVEL: Final = "11"
_NEEDED_CLASS: Final = "org/apache/kafka/server/telemetry/ClientTelemetry.class"
_TIMEOUT_S: Final = 120.0
_SAME_TIME: Final = (1980, 1, 1, 0, 0, 0)
_MANIFEST: Final = b"Manifest-Version: 1.0\r\nImplementation-Title: kafkabal telemetry forwarder\r\n\r\n"


def kafka_jars(libs: Sequence[Path]) -> tuple[Path, ...]:
    """All jars among these jars and in these folders, if they are those of a Kafka that the plug-in fits.

    Raises
    ------
    InputFileError
        If they are not those of Kafka 3.7 or later.
    """
    class_path = tuple(jar for lib in libs for jar in _jars(lib))
    _expect_telemetry(class_path, libs)
    return class_path


def build_plugin(jar: Path, class_path: Sequence[Path], *, java: Path, compiler: Path) -> None:
    """Compile the plug-in; equal source and compiler give equal bytes.

    Parameters
    ----------
    class_path
        Jars of Kafka, see :func:`kafka_jars`.
    java, compiler
        A Java runtime of 17 or later, and the jar of the Eclipse compiler for Java.

    Raises
    ------
    OperationError
        If the source does not compile against these jars.
    OutputError
        If the jar cannot be written.
    """
    with tempfile.TemporaryDirectory() as scratch:
        classes = Path(scratch)
        _compile(class_path, classes, java, compiler)
        _pack(classes, jar)


def _jars(lib: Path) -> list[Path]:
    if lib.is_dir():
        return sorted(lib.glob("*.jar"))
    if not lib.is_file():
        raise InputFileError(lib, "no such file or folder", hint="give the libs folder of Kafka")
    return [lib]


def _expect_telemetry(class_path: Sequence[Path], libs: Sequence[Path]) -> None:
    for jar in class_path:
        try:
            with zipfile.ZipFile(jar) as content:
                if _NEEDED_CLASS in content.namelist():
                    return
        except (OSError, zipfile.BadZipFile) as error:
            raise InputFileError(jar, f"not a jar: {error}") from error
    where = ", ".join(map(str, libs))
    raise InputFileError(where, "no Kafka with client telemetry found", hint="it requires Kafka 3.7 or later (KIP-714)")


def _compile(class_path: Sequence[Path], classes: Path, java: Path, compiler: Path) -> None:
    with resources.as_file(resources.files("kafkabal.telemetry.broker_plugin") / "java") as source:
        command = [
            str(java),
            "-jar",
            str(compiler),
            f"-{_JAVA_LEVEL}",
            "-proc:none",
            "-nowarn",
            "-encoding",
            "UTF-8",
            "-cp",
            ":".join(map(str, class_path)),
            "-d",
            str(classes),
            str(source),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OperationError(f"cannot run the Java compiler: {error}") from error
    if done.returncode != 0:
        raise OperationError(f"the plug-in does not compile against these jars:\n{(done.stdout + done.stderr).strip()}")


def _pack(classes: Path, jar: Path) -> None:
    with replacing(jar) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as content:
        content.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", _SAME_TIME), _MANIFEST)
        for path in sorted(classes.rglob("*.class")):
            name = path.relative_to(classes).as_posix()
            content.writestr(zipfile.ZipInfo(name, _SAME_TIME), path.read_bytes())
