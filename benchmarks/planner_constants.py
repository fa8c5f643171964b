"""The effect of a tuned constant of the planner: plans with other values of it against plans with its own.

    python -m benchmarks.planner_constants search.local_search._PRICE 0.4 1.6
    python -m benchmarks.planner_constants search.joint_moves._LONGEST 3 15 --worlds small

Prints, over 19 plans of nine clusters of 12 to 23 brokers (five heavy, one of them grown and one with followers that
differ by 30%; three random, one rack-blind, one with three log dirs; at 9% and 2%, and one drain): the bytes moved
relative to the plan with the unchanged constant, how many plans differ, holders left outside their band, and processor
time, which is exact to a tenth or two. Clusters come from ``make_snapshot.py``, see ``planner.py``. ``--worlds small``
compares 24 plans of 12 drawn clusters of 5 to 8 brokers instead; ``--worlds rated`` 24 plans of 12 drawn clusters of 12
brokers, by the usual scores and by the bytes that leaders receive and send, with one to three replicas.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.planner import BENCH_DIR
from kafkabal.clusters.snapshot import read_snapshot
from kafkabal.model import ClusterState
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.scoring import load_scores
from kafkabal.testing import SyntheticWorld, make_world

WORLDS = {
    **{f"heavy {seed}": f"heavy --seed {seed} --topics 120" for seed in range(1, 5)},
    "heavy, followers differ": "heavy --seed 5 --topics 120 --follower-jitter 0.3",
    "heavy, grown": "heavy --seed 6 --topics 100",
    "random": "random --brokers 20 --partitions 2500 --racks 5 --seed 1",
    "random, rack-blind": "random --brokers 20 --partitions 2000 --racks 5 --seed 2 --rack-blind",
    "random, 3 dirs": "random --brokers 12 --partitions 1500 --racks 3 --seed 3 --dirs 3",
}
TOLERANCES = (0.09, 0.02)
DRAINED = frozenset({3})
RATED = ("disk", "replicas", "leaders", "topic-spread", "leader-bytes-in", "bytes-out")


Case: TypeAlias = "tuple[str, ClusterState, PlanOptions]"


@dataclass(frozen=True)
class Planned:
    """The compared figures of a plan."""

    name: str
    moved_bytes: int
    outside: int


def main() -> None:
    """Print one line per value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constant", help="module below kafkabal.planner, and name: search.local_search._PRICE")
    parser.add_argument("values", nargs="+", type=float)
    parser.add_argument("--worlds", choices=CASES, default="usual")
    options = parser.parse_args()
    path, _, name = options.constant.rpartition(".")
    own = getattr(importlib.import_module(f"kafkabal.planner.{path}"), name)
    cases = list(CASES[options.worlds]())
    plans(cases)  # excludes what the first plans import and cache
    usual, usual_s = plans(cases)
    for value in options.values:
        set_everywhere(name, own, type(own)(value))
        print(
            f"{options.constant} = {value:g} (is {own:g}): {compared(usual, usual_s, *plans(cases))}",
            flush=True,
        )
        set_everywhere(name, type(own)(value), own)


def set_everywhere(name: str, before: float, value: float) -> None:
    """Set a constant in its module, and in those that imported it by name."""
    for module in [m for path, m in sys.modules.items() if path.startswith("kafkabal.planner")]:
        if module.__dict__.get(name) == before:
            setattr(module, name, value)


def snapshot(folder: Path, world: str, words: str) -> Path:
    """Create the snapshot of a world."""
    path = folder / f"{len(list(folder.iterdir()))}.jsonl"
    kind, *options = words.split()
    subprocess.run([sys.executable, BENCH_DIR / "make_snapshot.py", kind, path, *options], check=True)
    if not world.endswith("grown"):
        return path
    grown = path.with_suffix(".grown.jsonl")
    subprocess.run([sys.executable, BENCH_DIR / "make_snapshot.py", "grow", path, grown, "--add", "3"], check=True)
    return grown


def plans(cases: list[Case]) -> tuple[list[Planned], float]:
    """All plans, and their processor time."""
    began_s = time.process_time()
    found = [planned(*case) for case in cases]
    return found, time.process_time() - began_s


def usual_cases() -> Iterator[Case]:
    """Clusters, and the options of their plans."""
    with tempfile.TemporaryDirectory() as folder:
        states = {world: read_snapshot(snapshot(Path(folder), world, words)) for world, words in WORLDS.items()}
    for world, state in states.items():
        for tolerance in TOLERANCES:
            yield f"{world} at {tolerance:.0%}", state, PlanOptions(tolerance=tolerance)
    yield "heavy 1, drained", states["heavy 1"], PlanOptions(drain=DRAINED)


def small_cases() -> Iterator[Case]:
    """Clusters with so few replicas that joint moves and the iterated search are tried."""
    for seed in range(12):
        world = SyntheticWorld(
            seed=seed,
            brokers=5 + seed % 4,
            racks=3,
            topics=4 + 2 * seed,
            most_partitions=8,
            skew=1.5,
            replication_factor=2 + seed % 2,
        )
        for tolerance in TOLERANCES:
            yield f"small {seed} at {tolerance:.0%}", make_world(world), PlanOptions(tolerance=tolerance)


def rated_cases() -> Iterator[Case]:
    """Clusters whose producer and consumer traffic is unbalanced differently from their bytes."""
    for seed in range(12):
        state = make_world(SyntheticWorld(seed=seed, brokers=12, topics=60, replication_factor=1 + seed % 3))
        rate = np.random.default_rng(seed).exponential(1e5, len(state.partitions))
        state = replace(state, partitions=replace(state.partitions, in_bytes_per_s=rate, out_bytes_per_s=rate * 2))
        for tolerance in TOLERANCES:
            yield (
                f"rated {seed} at {tolerance:.0%}",
                state,
                PlanOptions(tolerance=tolerance, scores=load_scores(RATED)),
            )


CASES = {"usual": usual_cases, "small": small_cases, "rated": rated_cases}


def planned(name: str, state: ClusterState, options: PlanOptions) -> Planned:
    """Make one plan."""
    plan = make_plan(state, options)
    return Planned(name, plan.moved_bytes, sum(int(score.after["outside"]) for score in plan.scores.values()))


def compared(usual: list[Planned], usual_s: float, other: list[Planned], other_s: float) -> str:
    """One line on how the plans differ."""
    ratio = [new.moved_bytes / max(1, old.moved_bytes) for new, old in zip(other, usual, strict=True)]
    worst = max(range(len(ratio)), key=lambda row: ratio[row])
    differ = sum(r != 1 for r in ratio)
    return (
        f"bytes x {sum(ratio) / len(ratio):.4f}, at most {ratio[worst]:.4f} ({usual[worst].name}), "
        f"at least {min(ratio):.4f}; {differ} of {len(ratio)} differ; outside {sum(p.outside for p in usual)} -> "
        f"{sum(p.outside for p in other)}; time x {other_s / usual_s:.1f}"
    )


if __name__ == "__main__":
    main()
