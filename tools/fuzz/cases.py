"""Fuzz cases: a command line and the files that it reads, with one file or the words damaged."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kafkabal.cli.framework.shared_options import Format
from tools.fuzz.damage import damaged
from tools.fuzz.drawn_command_lines import drawn_words
from tools.fuzz.sound_files import HISTORY_FILE, NAMES_FILE, RECORD_FILE, RUN_FILE


@dataclass(frozen=True, slots=True)
class Case:
    """A command line, and the files in its working folder."""

    words: tuple[str, ...]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A file that can be damaged, and the command lines that read it."""

    file: str
    uses: tuple[str, ...]


_ON = "--snapshot s.jsonl"
_SAVED = f"{_ON} --save out.jsonl --yes"
_AT = "-b 127.0.0.1:1"
_KINDS = (
    _Kind(
        "s.jsonl",
        (
            f"inspect {_ON} --by broker",
            f"inspect {_ON} --by log-dir -o json",
            f"inspect {_ON} --by rack -o csv",
            f"inspect {_ON} --by topic -o prometheus",
            f"inspect {_ON} --by partition -o yaml",
            f"inspect {_ON} --check",
            "inspect diff s.jsonl s2.jsonl --all",
            f"advise {_ON}",
            f"inspect {_ON} -o markdown",
            f"watch {_ON} --once",
            f"watch {_ON} --once -o json",
            f"completion candidates topics {_ON}",
            f"inspect {_ON} --nagios",
            f"inspect {_ON} --save copy.jsonl",
            f"inspect {_ON} -o html",
            f"inspect {_ON} --record",
            f"inspect {_ON} --by rack --rack-level 1 --price-per-gb 0.02",
            "inspect --profile cold",
            "inspect --all-profiles --topics t*",
            "profiles check cold",
            f"advise {_ON} --target 40% --broker 1 --limit 50%",
            f"rebalance plan {_ON} --drain 1 -o html",
            f"rebalance plan {_ON} --frontier",
            f"rebalance explain t-0 3 --why-not {_ON}",
            f"scores {_ON}",
            f"rebalance plan {_ON}",
            f"rebalance plan {_ON} --drain 1 --replication-factor 3",
            f"rebalance plan {_ON} --what-if add=9:r1:4TiB",
            f"rebalance {_SAVED}",
            f"rebalance {_ON} --dry-run",
            f"rebalance status {_ON}",
            f"rebalance apply p.json {_SAVED}",
            f"create n -p 3 -r 2 {_ON} --dry-run",
            f"create n --preset training {_SAVED}",
            f"route-simulate --topic t {_ON} --records 500 --policy score",
        ),
    ),
    _Kind(
        "p.json",
        (
            f"rebalance apply p.json {_SAVED}",
            f"rebalance apply p.json {_ON} --dry-run",
            f"rebalance plan {_ON} --keep-moved p.json",
            "rebalance explain p.json t-0",
            "rebalance show p.json --all -o markdown",
            "rebalance show p.json -o html",
            "rebalance diff p.json p2.json",
        ),
    ),
    _Kind(
        "j.jsonl",
        (
            f"rebalance status {_ON} --journal j.jsonl",
            f"rebalance resume {_SAVED} --journal j.jsonl",
            f"rebalance rollback {_SAVED} --journal j.jsonl",
            f"rebalance cancel {_SAVED} --journal j.jsonl",
        ),
    ),
    _Kind("prof.yaml", (f"rebalance plan {_ON} --profile prof.yaml#prod", f"inspect {_ON} --profile prof.yaml")),
    _Kind("topics.yaml", (f"create -f topics.yaml {_ON} --dry-run",)),
    _Kind("w.yaml", ("route-simulate --workload w.yaml --records 300 --policy score --policy default",)),
    _Kind("m.jsonl", ("route-simulate --workload wm.yaml --records 300 --policy score",)),
    _Kind(
        "topics.txt",
        (
            "snapshot import --topics topics.txt --log-dirs dirs.txt --out out.jsonl",
            "snapshot import --topics topics.txt --out out.jsonl.gz",
        ),
    ),
    _Kind("dirs.txt", ("snapshot import --topics topics.txt --log-dirs dirs.txt --out out.jsonl",)),
    _Kind("assigned.json", ("snapshot import --assignment assigned.json --log-dirs dirs.txt --out out.jsonl",)),
    # read before the cluster is contacted: all that follows takes as long as the case specifies
    _Kind("case.yaml", (f"rebalance simulate --case case.yaml {_AT}",)),
    _Kind(
        "config/profiles.yaml",
        (
            "profiles list",
            "profiles list -o json",
            "profiles show prod",
            "profiles use prod",
            "profiles add other -b broker1:9092",
            "config show --profile prod",
            "completion candidates profiles",
            "monitoring --out monitoring",
            f"inspect --profile prod {_ON}",
        ),
    ),
    _Kind(
        HISTORY_FILE,
        (
            f"inspect --growth {_ON}",
            f"inspect --growth --by topic {_ON} -o json",
            f"rebalance plan --plan-for 7d {_ON}",
        ),
    ),
    _Kind("s2.jsonl", ("inspect diff s.jsonl s2.jsonl", "inspect diff s2.jsonl s.jsonl -o json")),
    _Kind(
        "training.yaml",
        (f"route-simulate {_ON} --topic t --training training.yaml --storage nas --records 300 --policy score",),
    ),
    # kill, stop and down send signals: a damaged record must not choose the target
    _Kind(RECORD_FILE, ("sandbox status", "sandbox status -o json", "sandbox logs 1", "scores")),
    _Kind(
        RUN_FILE,
        (f"rebalance history {_ON} --last 30d", f"rebalance status {_ON}", f"rebalance history {_ON} -o json"),
    ),
    _Kind(NAMES_FILE, (f"completion candidates topics {_AT}", f"completion candidates brokers {_AT}")),
    _Kind("c.properties", ("inspect --command-config c.properties -b 127.0.0.1:1 --broker-timeout 50ms",)),
)


def draw(seed: int, number: int, folder: Path) -> Case:
    """Draw the case of a number; equal seeds and numbers give equal cases. ``folder`` has the valid files."""
    rng = Random(f"{seed}:{number}")
    sound = _read(folder)
    if rng.random() < 0.5:
        return Case(drawn_words(rng), sound)
    kind = rng.choice((*_KINDS, _KINDS[0], _KINDS[0], _KINDS[1], _KINDS[2]))
    words = rng.choice(kind.uses).split()
    if "-o" not in words and rng.random() < 0.3:
        # a command without that format says so
        words += ["-o", rng.choice(tuple(Format))]
    return Case(tuple(words), {**sound, kind.file: _damaged_file(kind.file, sound[kind.file], rng)})


def _damaged_file(name: str, data: bytes, rng: Random) -> bytes:
    """Damage a file; a compressed one mostly inside, since the checksum detects any other change."""
    if name.endswith(".gz") and rng.random() < 0.8:
        return gzip.compress(damaged(gzip.decompress(data), rng), mtime=0)
    return damaged(data, rng)


def sound_cases(folder: Path) -> Iterator[Case]:
    """Every command line that reads a file, with valid files."""
    files = _read(folder)
    yield from (Case(tuple(use.split()), files) for kind in _KINDS for use in kind.uses)


def _read(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
