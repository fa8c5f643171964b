"""Runs many cases: ``python -m tools.fuzz --cases 20000``, and a tenth as many damaged sources of ``produce``.

Each is drawn from ``--seed`` and its number, so that ``--only NUMBER`` repeats it and shows it in full; ``--first``
starts with another number.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.fuzz.cases import draw
from tools.fuzz.damaged_produce_sources import source_fault
from tools.fuzz.run_case import run_case
from tools.fuzz.sound_files import write_sound_files

_CHUNK = 50
_CASES_A_SOURCE = 10


def main() -> int:
    """Run the cases; returns 1 if one ended wrongly."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="run one case, and show it")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.cases) if options.only is None else [options.only]
    with TemporaryDirectory() as name, ProcessPoolExecutor(options.workers) as workers:
        folder = Path(name)
        write_sound_files(folder)
        if options.only is not None:
            print(draw(options.seed, options.only, folder).words)
        found = workers.map(partial(_fault, options.seed, folder), numbers, chunksize=_CHUNK)
        sources = numbers[::_CASES_A_SOURCE] if options.only is None else []
        of_sources = workers.map(partial(source_fault, options.seed), sources, chunksize=_CHUNK)
        wrong = 0
        for number, fault in _faults(zip(numbers, found, strict=True), numbers[-1]):
            wrong += 1
            print(f"case {number}: {draw(options.seed, number, folder).words}\n{fault}\n", flush=True)
        for number, fault in _faults(zip(sources, of_sources, strict=True), numbers[-1]):
            wrong += 1
            print(f"source {number}: {fault}\n", flush=True)
    print(f"{len(numbers)} cases and {len(sources)} sources of seed {options.seed}: {wrong} wrong")
    return 1 if wrong else 0


def _faults(found: Iterator[tuple[int, str]], last: int) -> Iterator[tuple[int, str]]:
    for number, fault in found:
        if number and number % 1000 == 0:
            print(f"{number} of {last}", file=sys.stderr)
        if fault:
            yield number, fault


def _fault(seed: int, folder: Path, number: int) -> str:
    return run_case(draw(seed, number, folder)).fault


if __name__ == "__main__":
    sys.exit(main())
