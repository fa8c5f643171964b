"""Random numbers one by one and many at a time."""

from __future__ import annotations

from kafkabal.routing.random_stream import RandomStream


def test_stream_does_not_care_how_it_is_drawn() -> None:
    """Single draws, rows and blocks of any length, mixed, give the same sequence as one block."""
    mixed, whole = RandomStream(5), RandomStream(5)
    drawn: list[float] = []
    for n in (1, 3, 0, 1500, 1, 700, 2, *[1019] * 5):
        drawn += [mixed.next() for _ in range(n % 10)]
        drawn += mixed.take(n).tolist()
        drawn += mixed.row(n % 7)

    assert drawn == whole.take(len(drawn)).tolist()


def test_seeds_distinguish_streams() -> None:
    """Another seed is another stream."""
    streams = {tuple(RandomStream(seed).take(3)) for seed in range(4)}

    assert len(streams) == 4
