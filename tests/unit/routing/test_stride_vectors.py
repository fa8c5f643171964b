"""The known answers that the partitioner for Java is held to as well (tests/live/test_java_partitioner.py)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkabal.routing.key_hashes import key_partition, murmur2
from tools.write_stride_vectors import replay

VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "stride_vectors.json").read_text())


@pytest.mark.parametrize("case", VECTORS["strides"])
def test_the_stride_gives_the_known_partitions(case: dict[str, Any]) -> None:
    """Weights, slots and record sizes of all kinds: every record goes where the file says."""
    assert replay(case) == case["partitions"]


def test_keys_have_the_known_hashes() -> None:
    """Keys of 0 to 40 bytes get the hashes and partitions in the file."""
    for key, hashed, n, partition in VECTORS["keys"]:
        assert (murmur2(bytes.fromhex(key)), key_partition(bytes.fromhex(key), n)) == (hashed, partition)
