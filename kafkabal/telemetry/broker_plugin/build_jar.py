"""Builds the broker plug-in against the jars of a compatible Kafka version."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Final

from kafkabal.build_java_jar import build_jar
from kafkabal.errors import InputFileError
from kafkabal.input_files import exists

REPORTER_CLASS: Final = "kafkabal.telemetry.TelemetryForwarder"
"""Value for a broker's ``metric.reporters``."""

_NEEDED_CLASS: Final = "org/apache/kafka/server/telemetry/ClientTelemetry.class"


def kafka_jars(libs: Sequence[Path]) -> tuple[Path, ...]:
    """All jars in these folders and among these files, if they belong to a Kafka version that the plug-in supports.

    Raises
    ------
    InputFileError
        If they do not belong to Kafka 3.7 or later.
    """
    class_path = tuple(jar for lib in libs for jar in _jars(lib))
    _expect_telemetry(class_path, libs)
    return class_path


def build_plugin(jar: Path, class_path: Sequence[Path], *, java: Path, compiler: Path) -> None:
    """Compile the plug-in; see :func:`~kafkabal.build_java_jar.build_jar`.

    Parameters
    ----------
    class_path
        Jars of Kafka, see :func:`kafka_jars`.
    """
    with resources.as_file(resources.files("kafkabal.telemetry.broker_plugin") / "java") as source:
        build_jar(jar, source, class_path, title="kafkabal telemetry forwarder", java=java, compiler=compiler)


def _jars(lib: Path) -> list[Path]:
    if not exists(lib):
        raise InputFileError(lib, "no such file or folder", hint="give the libs folder of Kafka")
    return sorted(lib.glob("*.jar")) if lib.is_dir() else [lib]


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
