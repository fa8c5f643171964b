"""Try many cases: ``python -m tools.fuzz --cases 20000``.

Each is drawn from ``--seed`` and its number, so that ``--only NUMBER`` runs it again and shows it whole.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.fuzz.cases import draw, write_sound_files
from tools.fuzz.run_case import run_case

_CHUNK = 50


def main() -> int:
    """Run the cases; 1 where one ended wrongly."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", type=int, help="run one case, and show it")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_sound_files(folder)
        if options.only is not None:
            print(draw(options.seed, options.only, folder).words)
        numbers = range(options.cases) if options.only is None else [options.only]
        wrong = 0
        with ProcessPoolExecutor(options.workers) as workers:
            found = workers.map(partial(_fault, options.seed, folder), numbers, chunksize=_CHUNK)
            for number, fault in _told(zip(numbers, found, strict=True), options.cases):
                wrong += 1
                print(f"case {number}: {draw(options.seed, number, folder).words}\n{fault}\n", flush=True)
    print(f"{len(numbers)} cases of seed {options.seed}: {wrong} wrong")
    return 1 if wrong else 0


def _told(found: Iterator[tuple[int, str]], cases: int) -> Iterator[tuple[int, str]]:
    for number, fault in found:
        if number and number % 1000 == 0:
            print(f"{number} of {cases}", file=sys.stderr)
        if fault:
            yield number, fault


def _fault(seed: int, folder: Path, number: int) -> str:
    return run_case(draw(seed, number, folder)).fault


if __name__ == "__main__":
    sys.exit(main())
