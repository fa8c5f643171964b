"""How long ``kafkabal --help`` takes compared with the import of typer, which no typer-based command line can beat.

Run it with the interpreter that kafkabal is installed for::

    python -m benchmarks.startup

Compares medians of the processor time of the child processes (user and system), with runs of both interleaved. Both
find their modules compiled, as in an installation: compiling kafkabal's at each start takes 7 ms more, which is what a
tree without write access for ``__pycache__`` shows. The target is a ratio of at most 1.3.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from statistics import median
from tempfile import TemporaryDirectory

AIM = 1.3
KAFKABAL = "import sys; from kafkabal.cli.main import main; sys.exit(main())"


def processor_seconds(environ: Mapping[str, str], *command: str) -> float:
    """Processor time of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure and print; exit 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=25)
    runs = parser.parse_args().runs
    commands = {
        "import typer": (sys.executable, "-c", "import typer"),
        "kafkabal --help": (sys.executable, "-c", KAFKABAL, "--help"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    with TemporaryDirectory() as compiled:
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
        for command in commands.values():
            processor_seconds(environ, *command)  # compiles
        for _ in range(runs):
            for name, command in commands.items():
                seconds[name].append(processor_seconds(environ, *command))
    medians = {name: median(found) for name, found in seconds.items()}
    for name, value in medians.items():
        print(f"{name:16} {value * 1000:6.1f} ms")
    ratio = medians["kafkabal --help"] / medians["import typer"]
    print(f"{'ratio':16} {ratio:6.2f}    (aim: at most {AIM})")
    return 0 if ratio <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
