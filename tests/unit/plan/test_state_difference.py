"""Changes between two states, as tables."""

import pytest

from kafkabal.model.cluster_rows import PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.plan import Action
from kafkabal.plan.state_difference import make_changes
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def _state(*parts: PartitionRow, dirs: int = 1) -> ClusterState:
    return cluster(brokers(4, dirs=dirs), [TopicRow(topic="img", partitions=list(parts))])


@pytest.mark.parametrize(
    ("after", "action", "bytes_", "log_dir_bytes"),
    [
        (partition(0, [4, 2]), Action.MOVE, GB, 0),
        (partition(0, [3, 4]), Action.MOVE, 2 * GB, 0),
        (partition(0, [2, 1]), Action.REORDER, 0, 0),
        (partition(0, [1, 2], leader=2), Action.ELECT, 0, 0),
        (partition(0, [1, 2], log_dirs=[0, 1]), Action.LOG_DIR, 0, GB),
    ],
)
def test_the_weightiest_change_names_the_action(
    after: PartitionRow, action: Action, bytes_: int, log_dir_bytes: int
) -> None:
    """What a partition needs is named and priced."""
    (change,) = make_changes(_state(partition(0, [1, 2]), dirs=2), _state(after, dirs=2))

    assert (action, bytes_, log_dir_bytes) == (change.action, change.bytes, change.log_dir_bytes)


def test_equal_states_have_no_changes() -> None:
    """Nothing is listed where nothing differs."""
    state = _state(partition(0, [1, 2]), partition(1, [2, 3]))

    assert make_changes(state, state) == ()


def test_changes_are_listed_with_their_previous_placement_and_reason() -> None:
    """A change remembers where the partition lay, names the dir of an arrival, and carries the reason given."""
    before = _state(partition(0, [1, 2]), partition(1, [2, 3]), dirs=2)
    after = _state(partition(0, [1, 2]), partition(1, [2, 4], log_dirs=[0, 1]), dirs=2)

    (change,) = make_changes(before, after, lambda rows: [f"row {r}" for r in rows])

    assert (change.topic, change.partition, change.replicas, change.reason) == ("img", 1, (2, 4), "row 1")
    assert change.log_dirs == ("any", "/d1")
    assert change.previous is not None
    assert (
        change.previous.replicas,
        change.previous.leader,
        change.previous.log_dirs,
    ) == ((2, 3), 2, ("/d0", "/d0"))


def test_a_further_replica_is_a_move() -> None:
    """A change of the replication factor is listed as a move of the new copy."""
    (change,) = make_changes(_state(partition(0, [1])), _state(partition(0, [1, 3])))

    assert (change.action, change.to_add, change.bytes) == (Action.MOVE, (3,), GB)
