"""A trainer that may be killed at any time: its log has the samples it got, together with the state."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from kafkabal.reader import Sample, TopicReader

BATCH = 16
COMPUTING_S = 0.01
"""A batch; so that a kill finds the trainer in the middle of an epoch."""


def main() -> None:
    """Read until the end, writing a line per batch: the samples, and the state after them.

    ``computing_s`` is the computing time of a batch; reading starts once the file ``start`` exists."""
    given = json.loads(sys.argv[1])
    computing_s, start = given.pop("computing_s", COMPUTING_S), given.pop("start", None)
    with Path(given.pop("log")).open("w", buffering=1) as log:
        data = TopicReader(given.pop("topic"), tail="keep", shuffle_seed=3, **given)
        log.write(_line([], data))
        while start is not None and not Path(start).exists():
            time.sleep(0.01)
        log.writelines(_line(batch, data) for batch in _trained(data, computing_s))
        log.write('"end"\n')


def _trained(data: TopicReader, computing_s: float) -> Iterator[list[Sample]]:
    for batch in data.batches(BATCH):
        time.sleep(computing_s)
        yield batch


def _line(batch: list[Sample], data: TopicReader) -> str:
    return json.dumps([[(s.partition, s.offset) for s in batch], data.state_dict()]) + "\n"


if __name__ == "__main__":
    main()
