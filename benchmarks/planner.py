"""How fast plans are, how small, and how close to the bound: the whole process from the shell to the plan file.

    python -m benchmarks.planner [--brokers 40,100,200] [--worlds random,heavy,grow,unequal,...] [--seeds N]

Clusters come from ``make_snapshot.py`` in ``KAFKABAL_BENCH_DIR`` (by default ``../shared/bench``), and
``check_plan.py`` beside it judges the plans; without them, our own worlds and the planner's own certificate are used.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kafkabal.testing import SyntheticWorld

BENCH_DIR = Path(os.environ.get("KAFKABAL_BENCH_DIR", Path(__file__).resolve().parents[2] / "shared" / "bench"))
ALL_SCORES = ("disk", "replicas", "leaders", "topic-spread")
UNTIDY: dict[str, list[object]] = {
    "4 dirs": ["--dirs", 4],
    "followers differ by 30%": ["--follower-jitter", 0.3],
    "half led by the last": ["--leader-skew", 0.5],
    "5% unknown sizes": ["--unknown", 0.05],
    "2 dead": ["--dead", 2],
    "2 cordoned, 4 dirs": ["--cordoned", 2, "--dirs", 4],
    "no rack": ["--no-rack"],
    "rack-blind": ["--rack-blind"],
}
UNEQUAL = {
    "2 + 1 + 1 brokers": SyntheticWorld(brokers=4, racks=3),
    "2 + 2 + 1": SyntheticWorld(brokers=5, racks=3),
    "3 + 2 + 2": SyntheticWorld(brokers=7, racks=3),
    "3 + 3 + 2": SyntheticWorld(brokers=8, racks=3),
    "3 + 2, two replicas": SyntheticWorld(brokers=5, racks=2, replication_factor=2),
    "3 + 2 + 2, one half disk": SyntheticWorld(brokers=7, racks=3, half_sized=True),
    "4 + 4 + 4, two replicas": SyntheticWorld(brokers=12, racks=3, replication_factor=2),
    "3 + 3 + 3, disks of 1 : 2 : 4": SyntheticWorld(brokers=9, racks=3, disks=(1, 2, 4)),
    "5 + 4 + 4, disks of 1 : 4": SyntheticWorld(brokers=13, racks=3, disks=(1, 4)),
    "4 + 4 + 3, two replicas, disks of 1 : 2": SyntheticWorld(brokers=11, racks=3, replication_factor=2, disks=(1, 2)),
}
"""Racks of different size, in which shares cannot be equal, and brokers whose numbers and bytes bind each other."""
COLUMNS = ((("disk",), 0.09), (ALL_SCORES, 0.09), (ALL_SCORES, 0.02))


@dataclass(frozen=True)
class Cluster:
    """A snapshot to plan for."""

    name: str
    path: Path
    drain: str = ""
    """Brokers to drain, separated by commas."""


@dataclass(frozen=True)
class Measured:
    """One measured plan."""

    wall_s: float
    user_s: float
    peak_mb: float
    over_bound: float | None
    """Relative to the referee's bound."""
    over_certificate: float | None
    faults: dict[str, int]


def main() -> None:
    """Print one row per cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", default="40,100,200")
    parser.add_argument("--worlds", default="random,heavy,grow,rack-blind")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| cluster | columns: disk ±9%, all ±9%, all ±2% | wall s | user s | peak MB |")
        print("|---|---|---|---|---|")
        for cluster in clusters(Path(folder), options):
            print(row(cluster, [measure(cluster, scores, t, Path(folder)) for scores, t in COLUMNS]), flush=True)


def clusters(folder: Path, options: argparse.Namespace) -> list[Cluster]:
    """Create the snapshots."""
    if not (BENCH_DIR / "make_snapshot.py").exists():
        return [own_world(folder)]
    made = []
    worlds = options.worlds.split(",")
    sizes = [int(n) for n in options.brokers.split(",")]
    partitions = {40: 16_700, 100: 50_000, 200: 200_000, 1000: 1_000_000}
    for seed in range(1, options.seeds + 1):
        if "random" in worlds:
            for n in sizes:
                words = ["random", "--brokers", n, "--partitions", partitions[n], "--seed", seed]
                made.append(generate(folder, f"random {n}/{partitions[n] * 3:,} seed {seed}", words))
        if "rack-blind" in worlds:
            words = ["random", "--brokers", 100, "--partitions", 50_000, "--rack-blind", "--seed", seed]
            made.append(generate(folder, f"rack-blind 100 seed {seed}", words))
    if "heavy" in worlds:
        made += [generate(folder, f"heavy 12 seed {s}", ["heavy", "--seed", s]) for s in range(1, 6)]
    if "grow" in worlds:
        made.append(grown(folder))
    if "unequal" in worlds:
        made += unequal(folder)
    if "untidy" in worlds:
        made += [cluster for kind in ("random", "heavy") for cluster in untidy(folder, kind)]
    return made


def unequal(folder: Path) -> list[Cluster]:
    """Clusters of our own generator, whose brokers fill up with their number, over racks of different size."""
    from kafkabal.clusters.snapshot import write_snapshot
    from kafkabal.testing import make_world

    made = []
    for seed, (name, world) in enumerate(UNEQUAL.items(), 1):
        path = folder / f"unequal-{seed}.jsonl"
        write_snapshot(make_world(replace(world, seed=seed, topics=300, skew=1.5)), path)
        made.append(Cluster(name, path))
    return made


def untidy(folder: Path, kind: str) -> list[Cluster]:
    """Clusters that lack something or break a rule, and one with two brokers to drain."""
    made = [generate(folder, f"{kind}, {name}", [kind, *words]) for name, words in UNTIDY.items()]
    drained = generate(folder, f"{kind}, drain 2", [kind])
    return [*made, replace(drained, drain="3,4")]


def generate(folder: Path, name: str, words: list[object]) -> Cluster:
    """Run the generator."""
    path = folder / f"{name.replace('/', '-').replace(' ', '-')}.jsonl"
    kind, *rest = map(str, words)
    subprocess.run([sys.executable, BENCH_DIR / "make_snapshot.py", kind, path, *rest], check=True)
    return Cluster(name, path)


def grown(folder: Path) -> Cluster:
    """The 40 brokers after their own plan, plus five empty ones."""
    from kafkabal.clusters.snapshot import read_snapshot, write_snapshot
    from kafkabal.plan import apply_plan
    from kafkabal.planner import make_plan

    state = read_snapshot(generate(folder, "before growing", ["random"]).path)
    write_snapshot(apply_plan(state, make_plan(state)), folder / "balanced.jsonl")
    path = folder / "grown.jsonl"
    subprocess.run(
        [sys.executable, BENCH_DIR / "make_snapshot.py", "grow", folder / "balanced.jsonl", path, "--add", "5"],
        check=True,
    )
    return Cluster("grow 40 + 5", path)


def own_world(folder: Path) -> Cluster:
    """A cluster of our own generator."""
    from kafkabal.clusters.snapshot import write_snapshot
    from kafkabal.testing import make_world

    path = folder / "own.jsonl"
    write_snapshot(make_world(SyntheticWorld(brokers=40, racks=10, topics=2800, most_partitions=11)), path)
    return Cluster("own 40", path)


def measure(cluster: Cluster, scores: tuple[str, ...], tolerance: float, folder: Path) -> Measured:
    """Plan in a process of its own, and have the plan judged."""
    plan = folder / "plan.json"
    words = ["rebalance", "plan", "--snapshot", cluster.path, "--tolerance", str(tolerance), "--out", plan, "-q"]
    words += [word for score in scores for word in ("--score", score)]
    words += ["--drain", cluster.drain] if cluster.drain else []
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "kafkabal.cli.main", *map(str, words)])
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - began
    if status:
        raise SystemExit(f"{cluster.name}: the plan failed")
    ours = json.loads(plan.read_text())["kafkabal"]
    over = ours["moved_bytes"] / ours["bound_bytes"] if ours.get("bound_bytes") else None
    judged = judge(cluster, plan, scores, tolerance)
    return Measured(
        wall_s=wall_s,
        user_s=used.ru_utime,
        peak_mb=used.ru_maxrss / 1024,
        over_bound=judged.get("bytes_over_bound"),
        over_certificate=over,
        faults=judged.get("faults", {}),
    )


def judge(cluster: Cluster, plan: Path, scores: tuple[str, ...], tolerance: float) -> dict[str, Any]:
    """Ask the referee, if there is one."""
    referee = BENCH_DIR / "check_plan.py"
    if not referee.exists():
        return {}
    words: list[str | Path] = [
        sys.executable,
        referee,
        cluster.path,
        plan,
        "--json",
        "--band",
        str(tolerance),
        "--drain",
        cluster.drain,
    ]
    done = subprocess.run([*words, "--scores", ",".join(scores)], capture_output=True, text=True, check=False)
    judged: dict[str, Any] = json.loads(done.stdout)
    return judged


def row(cluster: Cluster, measured: list[Measured]) -> str:
    """One line of the table; the certificate in parentheses."""
    cells = [
        f"{ratio(m.over_bound)} ({ratio(m.over_certificate)}){' FAULTS' + str(m.faults) if m.faults else ''}"
        for m in measured
    ]
    wall, user = max(m.wall_s for m in measured), max(m.user_s for m in measured)
    return f"| {cluster.name} | {', '.join(cells)} | {wall:.2f} | {user:.2f} | {max(m.peak_mb for m in measured):.0f} |"


def ratio(value: float | None) -> str:
    """Four digits, or a dash if no bound is known."""
    return f"{value:.4f}" if value else "-"


if __name__ == "__main__":
    main()
