"""Check the executor in every state that it can reach: ``python -m tools.model_check --disturbances 2``.

Two partitions move on three brokers while whatever may happen happens, at every call that the tool makes: copies
arrive, brokers die and return, others move partitions and set throttles, answers are lost, the tool dies, stands still
while another host takes over, is interrupted, cannot write its journal or its output. Ends with 1 and with what
happened where something is violated that never may be.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from pathlib import Path

from tools.model_check.invariants import ViolationError
from tools.model_check.search import Figures, LossyFingerprintError, Search

_IN_MEMORY = Path("/dev/shm")
_GARBAGE = 100_000
"""Objects that are made before garbage is looked for; a life of the tool makes about 2,000 that are."""


def main() -> int:
    """Search; 1 at a violation."""
    parser = argparse.ArgumentParser(prog="python -m tools.model_check", description=__doc__)
    parser.add_argument("--disturbances", type=int, default=2, help="how many may happen on one path")
    parser.add_argument("--states", type=int, help="end at this number of states, complete or not")
    options = parser.parse_args()
    gc.freeze()
    gc.set_threshold(_GARBAGE)  # the branches that wait are no garbage, and looking through them takes long
    where = _IN_MEMORY if _IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        search = Search(options.disturbances, Path(folder), most_states=options.states, tell=_tell)
        try:
            figures = search.run()
        except ViolationError as violation:
            print("\n".join([*search.trail, f"violated: {violation}"]))
            return 1
        except LossyFingerprintError as fault:
            print("\n".join([*search.trail, f"a fault of the search: {fault}"]))
            return 1
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
    sys.exit(main())
