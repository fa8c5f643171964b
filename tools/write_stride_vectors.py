"""Writes the test vectors that keep the Java partitioner and ``byte_stride.py`` consistent.

::

    python -m tools.write_stride_vectors tests/unit/routing/stride_vectors.json

Run it only after a deliberate change of the method, which also changes the meaning of published weights.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from kafkabal.routing.byte_stride import ByteStride
from kafkabal.routing.key_hashes import key_partition, murmur2

_CASES, _KEYS = 40, 100


def main() -> int:
    """Write the file."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file", type=Path, metavar="FILE", help="file to write")
    file = options.parse_args().file
    randomness = random.Random(17)
    cases = [_case(randomness) for _ in range(_CASES)]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    keys = ",\n".join(json.dumps(_key(randomness), separators=(",", ":")) for _ in range(_KEYS))
    file.write_text(f'{{"strides":[\n{lines}\n],"keys":[\n{keys}\n]}}\n')
    return 0


def replay(case: dict[str, Any]) -> list[int]:
    """The partitions that a case's stride assigns to its records."""
    stride = ByteStride(1, case["start"], lambda: None)
    picked = []
    for step in case["steps"]:
        part = step["slot_part"]
        stride.set_slot_bytes(step["slot_bytes"], inf if part is None else part)
        stride.set_weights(np.array(step["weights"]), inf, np.array(step["leaders"], np.int32))
        picked += [stride.pick(None, size) for size in step["sizes"]]
    return picked


def _case(randomness: random.Random) -> dict[str, Any]:
    case: dict[str, Any] = {"start": randomness.random()}
    case["steps"] = [_step(randomness) for _ in range(randomness.randint(1, 4))]
    case["partitions"] = replay(case)
    return case


def _step(randomness: random.Random) -> dict[str, Any]:
    n, n_brokers = randomness.choice((1, 2, 5, 8, 13, 40)), randomness.randint(1, 7)
    leaders = [
        randomness.choice((-1, *range(n_brokers))) if randomness.random() < 0.2 else b % n_brokers for b in range(n)
    ]
    leaders[0] = max(leaders[0], 0)
    raw = [randomness.choice((1.0, randomness.expovariate(1))) if row >= 0 else 0.0 for row in leaders]
    mean_bytes = randomness.choice((1, 100, 1000, 20_000, 400_000))
    return {
        "slot_bytes": randomness.choice((1, 16_384, randomness.randint(1, 300_000))),
        "slot_part": randomness.choice((None, 1 / 200, 1 / 40)),
        "weights": [weight / sum(raw) for weight in raw],
        "leaders": leaders,
        "sizes": [1 + int(randomness.lognormvariate(0, 1) * mean_bytes) for _ in range(randomness.randint(1, 150))],
    }


def _key(randomness: random.Random) -> list[Any]:
    key, n = randomness.randbytes(randomness.randint(0, 40)), randomness.randint(1, 5000)
    return [key.hex(), murmur2(key), n, key_partition(key, n)]


if __name__ == "__main__":
    sys.exit(main())
