"""Builds a jar from Java source with the Eclipse compiler, which needs a Java runtime but no JDK."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafkabal.atomic_files import replacing
from kafkabal.errors import OperationError

# the minimum that clients and brokers of Kafka 4 require
_JAVA_LEVEL: Final = "11"
_TIMEOUT_S: Final = 120.0
"""A cold start of the compiler on a busy machine takes seconds; there are few files."""
_SAME_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time that zip can store; a fixed one, so that equal sources give equal bytes."""


def build_jar(jar: Path, source: Path, class_path: Sequence[Path], *, title: str, java: Path, compiler: Path) -> None:
    """Compile a folder of Java source; equal source and compiler give equal bytes.

    Parameters
    ----------
    class_path
        Jars that the source is compiled against.
    title
        ``Implementation-Title`` of the jar.
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
        _compile(source, class_path, classes, java, compiler)
        _pack(classes, jar, title)


def _compile(source: Path, class_path: Sequence[Path], classes: Path, java: Path, compiler: Path) -> None:
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


def _pack(classes: Path, jar: Path, title: str) -> None:
    manifest = f"Manifest-Version: 1.0\r\nImplementation-Title: {title}\r\n\r\n"
    with replacing(jar) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as content:
        content.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", _SAME_TIME), manifest)
        for path in sorted(classes.rglob("*.class")):
            name = path.relative_to(classes).as_posix()
            content.writestr(zipfile.ZipInfo(name, _SAME_TIME), path.read_bytes())
