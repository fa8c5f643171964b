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


def test_salt_and_seed_distinguish_streams() -> None:
    """Another seed or salt is another stream."""
    streams = {tuple(RandomStream(seed, salt).take(3)) for seed in (0, 1) for salt in (0, 1)}

    assert len(streams) == 4
