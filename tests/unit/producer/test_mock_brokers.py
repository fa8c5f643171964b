"""The mock brokers that tests of producers use."""

from contextlib import suppress
from pathlib import Path
from signal import SIGALRM

from tests.unit.producer.conftest import MockCluster


def test_signals_do_not_end_the_mock_brokers(mock_cluster: MockCluster) -> None:
    """Their thread blocks all signals: one that interrupts its poll ends it, and later crashes the process."""
    assert mock_cluster.leaders
    statuses = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread of another test has just ended
            statuses.append(task.joinpath("status").read_text())
    blocked = [
        int(line.split()[1], 16)
        for status in statuses
        if "rdk:mock" in status
        for line in status.splitlines()
        if line.startswith("SigBlk:")
    ]
    assert blocked
    assert all(mask >> (SIGALRM - 1) & 1 for mask in blocked)
