"""Checks the executor in every reachable state: ``python -m tools.model_check --disturbances 2``.

Two partitions move on three brokers while, at every call of the tool, anything possible may happen: copies complete,
brokers die and return, others move partitions and set throttles, responses are lost, the tool crashes, stalls while
another host takes over, is interrupted, or cannot write its journal or its output. Exits with 1, and prints the
sequence of events, if an invariant is violated. Two disturbances take many hours; ``--ordinary`` leaves out the rarer
kinds, and ``--checkpoint FILE --minutes 5`` runs the search in pieces.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import math
import os
import sys
import tempfile
from pathlib import Path

from tools.model_check.checkpoint import load, save
from tools.model_check.invariants import ViolationError
from tools.model_check.search import Figures, LossyFingerprintError, Progress, Search

_IN_MEMORY = Path("/dev/shm")
_GARBAGE = 100_000
"""Objects created between garbage collections; one life of the tool leaves about 2,000 garbage objects."""


def main() -> int:
    """Search; returns 1 on a violation."""
    parser = argparse.ArgumentParser(prog="python -m tools.model_check", description=__doc__)
    parser.add_argument("--disturbances", type=int, default=2, help="how many may happen on one path")
    parser.add_argument(
        "--ordinary",
        action="store_true",
        help="only deaths and returns of brokers, stalled copies, moves by others, lost responses and output, crashes",
    )
    parser.add_argument("--states", type=int, help="end at this number of states, complete or not")
    parser.add_argument("--minutes", type=float, default=math.inf, help="end after this time, complete or not")
    parser.add_argument("--checkpoint", type=Path, help="continue the search that this file holds, and keep it there")
    options = parser.parse_args()
    progress = Progress.at_first(options.disturbances, is_ordinary=options.ordinary)
    if options.checkpoint is not None:
        progress = load(options.checkpoint, progress)
    return _search(progress, options.states, options.minutes * 60.0, options.checkpoint)


def _search(progress: Progress, most_states: int | None, most_seconds: float, path: Path | None) -> int:
    gc.freeze()
    gc.set_threshold(_GARBAGE)  # pending branches are no garbage, and visiting them takes long
    where = _IN_MEMORY if _IN_MEMORY.is_dir() else None
    # below the current folder: with the name of a temporary one, states of the next part would differ from these
    with tempfile.TemporaryDirectory(dir=where) as folder, contextlib.chdir(folder):
        search = Search(progress, Path(), most_states=most_states, most_seconds=most_seconds, tell=_tell)
        try:
            figures = search.run()
        except ViolationError as violation:
            print("\n".join([*search.trail, f"violated: {violation}"]))
            return 1
        except LossyFingerprintError as fault:
            print("\n".join([*search.trail, f"a fault of the search: {fault}"]))
            return 1
    if path is not None:
        save(path, progress)
    _tell(figures)
    print(f"{figures.states} states, 0 violations{'' if figures.is_complete else ', not complete'}")
    return 0


def _tell(figures: Figures) -> None:
    print(
        f"{figures.seconds:.0f} s: {figures.states} states, {figures.lives} processes, {figures.ends} ends, "
        f"branches waiting, by what may still happen on them: {figures.waiting}",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # otherwise the order of sets differs between processes, and a resumed search would recognise no state
        again = [sys.executable, "-m", "tools.model_check", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
