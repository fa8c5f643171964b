"""Compiles the plug-in of librdkafka when a wheel is built for Linux; without a C compiler the package does without it.

Run on its own, it compiles the plug-in in this folder: ``python hatch_build.py``.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("kafkabal/producer/kafkabal_routing.c")
LIBRARY = SOURCE.with_suffix(".so")
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


class CompilePlugin(BuildHookInterface[Any]):
    """The build hook that pyproject.toml names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - of hatchling's interface
        """Compile the plug-in, and add it to the wheel."""
        fault = compile_plugin(Path(self.root))
        if fault is not None:
            self.app.display_warning(f"kafkabal.Producer routes without its plug-in of librdkafka: {fault}")
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        # any Python 3: the plug-in does not link against Python
        build_data["tag"] = f"py3-none-{platform}"
        build_data["artifacts"].append(str(LIBRARY))


def compile_plugin(root: Path) -> str | None:
    """Compile the plug-in; returns why that is not possible, None if it was."""
    # other systems' locks prefer writers: see the comment at the top of the source
    if sys.platform != "linux":
        return "it is for Linux"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    output = root / LIBRARY
    for command in (compiler, ["cc"]):
        try:
            words = [*command, *OPTIONS, str(root / SOURCE), "-o", f"{output}.new"]
            subprocess.run(words, check=True, capture_output=True, text=True)
            # another process may have the old one open
            Path(f"{output}.new").replace(output)
            return None
        except FileNotFoundError:
            fault = f"no C compiler: {command[0]}"
        except subprocess.CalledProcessError as error:
            fault = f"it does not compile: {error.stderr.strip()}"
    return fault


if __name__ == "__main__":
    sys.exit(compile_plugin(Path(__file__).parent))
