"""Executes random runs: ``python -m tools.seeds --runs 100000``.

Every run is drawn from its number: clusters of three to six brokers, operators' throttles, plans, options, up to six
disturbances in up to four commands. A failing run is printed with what happened in it; ``--first NUMBER --runs 1``
repeats it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools.seeds.drawn_run import drawn_run

_IN_MEMORY = Path("/dev/shm")
_TELL_EVERY = 1000


def main() -> int:
    """Execute the runs; returns 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.seeds", description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=1, help="number of the first")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.runs)
    failed: list[int] = []
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None) as folder:
        for number, seed in enumerate(seeds, 1):
            fault = drawn_run(seed, Path(folder))
            if fault:
                failed.append(seed)
                print(f"{fault}\nrepeat with: python -m tools.seeds --first {seed} --runs 1\n", flush=True)
            if number % _TELL_EVERY == 0:
                print(f"{number} runs, {len(failed)} failed, {time.monotonic() - began_s:.0f} s", file=sys.stderr)
    print(f"seeds {seeds[0]} to {seeds[-1]}: {len(failed)} of {len(seeds)} failed {failed[:20] or ''}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
