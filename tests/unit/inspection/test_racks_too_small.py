"""The effect of small racks is reported once, with the number of brokers that would make shares equal."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.inspection.racks_too_small import advice, brokers_to_add, small_racks
from kafkabal.scoring.due_under_rules import PlaceableLoads
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def loads(racks: list[int], each: dict[int, float]) -> PlaceableLoads:
    """Equal brokers in these racks."""
    n = len(racks)
    return PlaceableLoads(
        capacity=np.ones(n),
        counted=np.ones(n, np.bool_),
        rack=np.array(racks, np.int32),
        each=each,
        fixed=np.zeros(n),
        most=np.full(n, np.inf),
        on_top=np.zeros(n),
    )


def is_equal_with(racks: list[int], each: dict[int, float], added: tuple[int, ...]) -> bool:
    """Whether all shares can be equal once these racks have one more broker each."""
    found = loads([*racks, *added], each)
    return found.due() is found.capacity


def test_a_rack_that_is_too_small_is_named_with_its_cost() -> None:
    """One broker of five must hold a third, and one more next to it is enough."""
    found = small_racks(inspect_cluster(make_world(SyntheticWorld(seed=2, brokers=5, racks=3, topics=60))))

    assert [
        (r.brokers, r.all_brokers, round(r.part, 3), round(r.fair_over_mean, 3), r.brokers_to_add) for r in found
    ] == [(1, 5, 0.333, 1.667, 1)]
    assert "1 of 5 brokers and must hold 33%: its broker carries at least 1.67x the mean" in str(found[0])
    assert advice(found) == f"1 more broker in rack {found[0].rack} would make all shares equal"


def test_the_score_is_named_where_others_have_other_shares() -> None:
    """Beside a broker with half the disk, the figures of disk are not those of replicas: the text says whose."""
    whole, half = brokers(4, racks=4), brokers(5, racks=4, dir_bytes=500 * GB)[4:]
    rows = [replace(row, rack=rack) for row, rack in zip((*whole, *half), "aaabc", strict=True)]
    state = cluster(rows, [topic("t", *[[1, 4, 5], [2, 4, 5], [3, 4, 5]] * 4)])

    first, *_ = found = small_racks(inspect_cluster(state))

    assert str(first).endswith("its broker carries at least 3.00x the mean by disk")
    assert "would bring all shares by disk within the tolerance" in advice(found)


@pytest.mark.parametrize("racks", [1, 2, 5])
def test_racks_that_allow_equal_shares_give_no_finding(racks: int) -> None:
    """Racks of equal size, or enough of them, keep no broker from the mean."""
    found = small_racks(inspect_cluster(make_world(SyntheticWorld(seed=2, brokers=10, racks=racks, topics=60))))

    assert found == ()
    assert advice(found) == ""


def test_the_number_of_brokers_to_add_is_the_least() -> None:
    """No smaller number of brokers makes all shares equal, wherever they are added."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        n_racks = int(rng.integers(2, 5))
        racks = [*range(n_racks), *rng.choice(n_racks, int(rng.integers(0, 4))).tolist()]
        each = {int(r): float(rng.random()) + 0.1 for r in rng.choice([1, 2, 3, 4], 2, replace=False)}
        added = brokers_to_add(loads(racks, each), 0.1)

        assert added is not None
        wanted = tuple(z for z, number in added.items() for _ in range(number))
        assert is_equal_with(racks, each, wanted)
        fewer = combinations_with_replacement(range(n_racks), len(wanted) - 1) if wanted else ()
        assert not any(is_equal_with(racks, each, other) for other in fewer)
