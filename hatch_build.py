"""Compiles two C libraries when a wheel is built for Linux; without a compiler the package does in Python what they do.

Run on its own, it compiles them in this folder: ``python hatch_build.py``.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (Path("kafkabal/clusters/kafka/kafkabal_records.c"), Path("kafkabal/producer/kafkabal_routing.c"))
OPTIONS = (
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O2",
    "-Wall",
    "-Wextra",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-pthread",
)


class CompileLibraries(BuildHookInterface[Any]):
    """The build hook that pyproject.toml names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - of hatchling's interface
        """Compile the libraries, and add them to the wheel."""
        fault = compile_libraries(Path(self.root))
        if fault is not None:
            self.app.display_warning(f"kafkabal.Producer and kafkabal.reader will be slower: {fault}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        # any Python 3: the libraries do not link against Python
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"] += [str(library_of(source)) for source in SOURCES]


def library_of(source: Path) -> Path:
    """The compiled library of a source."""
    return source.with_suffix(".so")


def compile_libraries(root: Path) -> str | None:
    """Compile all libraries; returns why that is not possible, None if it was."""
    # other systems' locks prefer writers: see the comment at the top of the plug-in of librdkafka
    if sys.platform != "linux":
        return "the C libraries are for Linux"
    faults = (_compile(root / source) for source in SOURCES)
    return next((fault for fault in faults if fault is not None), None)


def _compile(source: Path) -> str | None:
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    output, digest = library_of(source), hashlib.sha256(source.read_bytes()).hexdigest()
    # for compiled_library.py
    options = (*OPTIONS, f'-DSOURCE_SHA256="{digest}"')
    for command in (compiler, ["cc"]):
        try:
            words = [*command, *options, str(source), "-o", f"{output}.new"]
            subprocess.run(words, check=True, capture_output=True, text=True)
            # another process may have the old one open
            Path(f"{output}.new").replace(output)
            return None
        except FileNotFoundError:
            fault = f"no C compiler: {command[0]}"
        except subprocess.CalledProcessError as error:
            fault = f"{source.name} does not compile: {error.stderr.strip()}"
    return fault


if __name__ == "__main__":
    sys.exit(compile_libraries(Path(__file__).parent))
