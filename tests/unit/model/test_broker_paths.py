"""Paths along which brokers hand partitions on."""

import numpy as np
import pytest

from kafkabal.model.broker_paths import shortest_broker_path

MAY = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]
"""Who may hand on to whom: from 0 to 3 in three steps by 1 and 2, or in two by 4."""


@pytest.mark.parametrize(
    ("sources", "sinks", "path"),
    [
        ([0], [3], [(0, 4), (4, 3)]),
        ([0, 2], [3], [(2, 3)]),
        ([0], [2, 3], [(0, 1), (1, 2)]),
        ([3], [0], []),
        ([], [0], []),
        ([0], [], []),
    ],
)
def test_the_path_with_the_fewest_steps_is_found(
    sources: list[int], sinks: list[int], path: list[tuple[int, int]]
) -> None:
    """From any source to any sink; of equally long paths, one to the sink of the lowest row; empty if there is none."""
    may = np.zeros((5, 5), np.bool_)
    may[tuple(np.transpose(MAY))] = True

    found = shortest_broker_path(may, np.isin(np.arange(5), sources), np.isin(np.arange(5), sinks))

    assert found == path
