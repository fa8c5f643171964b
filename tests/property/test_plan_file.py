"""Properties of plan files."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.plan.plan import Action, PartitionChange, Placement, Plan, ScoreChange
from kafkabal.plan.plan_file import read_plan, write_plan

names = st.text("abcXYZ019._-", min_size=1, max_size=6)
paths = st.sampled_from(["any", "/d0", "/data/d 1", "/d\u00e4ta"])
replica_lists = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4, unique=True).map(tuple)
shares = st.dictionaries(st.sampled_from(["max", "min", "skew"]), st.floats(0, 10), max_size=3)
options = st.dictionaries(names, st.none() | st.booleans() | st.integers(0, 2**53) | st.floats(0, 1) | st.lists(names))


@st.composite
def changes(draw: st.DrawFn, partition: tuple[str, int]) -> PartitionChange:
    """A change of a partition, with or without a previous placement."""
    replicas, before = draw(replica_lists), draw(replica_lists)
    previous = Placement(
        replicas=before,
        leader=draw(st.sampled_from([*before, -1])),
        log_dirs=tuple(draw(paths) for _ in before),
    )
    return PartitionChange(
        topic=partition[0],
        partition=partition[1],
        replicas=replicas,
        log_dirs=tuple(draw(paths) for _ in replicas),
        action=draw(st.sampled_from(Action)),
        previous=draw(st.none() | st.just(previous)),
        bytes=draw(st.integers(0, 2**60)),
        log_dir_bytes=draw(st.integers(0, 2**60)),
        reason=draw(st.text(max_size=5)),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan with its partitions in order."""
    partitions = draw(st.lists(st.tuples(names, st.integers(0, 50)), max_size=5, unique=True))
    return Plan(
        partitions=tuple(draw(changes(p)) for p in sorted(partitions)),
        cluster_id=draw(st.none() | names),
        taken_at=draw(st.none() | names),
        options=draw(options),
        seed=draw(st.integers(0, 2**31)),
        bound_bytes=draw(st.none() | st.integers(0, 2**60)),
        scores=draw(st.dictionaries(names, st.builds(ScoreChange, before=shares, after=shares), max_size=2)),
        warnings=tuple(draw(st.lists(st.text(max_size=5), max_size=2))),
    )


@given(plan=plans(), packed=st.booleans())
def test_a_plan_is_read_as_it_was_written(plan: Plan, packed: bool) -> None:
    """Every field survives, and so does the id."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"plan{'.gz' if packed else ''}")
        write_plan(plan, path)
        again = read_plan(path)
    assert again == plan
    assert again.plan_id == plan.plan_id
    assert _written(again) == _written(plan)


@given(plan=plans(), random=st.randoms(use_true_random=False))
def test_the_id_knows_no_order(plan: Plan, random: Any) -> None:
    """Partitions and options in any order give the same plan id."""
    partitions, given_options = list(plan.partitions), list(plan.options.items())
    random.shuffle(partitions)
    random.shuffle(given_options)
    shuffled = msgspec.structs.replace(plan, partitions=tuple(partitions), options=dict(given_options))
    assert shuffled.plan_id == plan.plan_id


@given(plan=plans())
def test_a_plan_file_is_what_kafkas_own_tool_takes(plan: Plan) -> None:
    """Kafka's own tool finds version, partitions, replicas and log dirs where it expects them."""
    content = msgspec.json.decode(_written(plan))
    assert content["version"] == 1
    read = [(p["topic"], p["partition"], tuple(p["replicas"]), tuple(p["log_dirs"])) for p in content["partitions"]]
    assert read == [(c.topic, c.partition, c.replicas, c.log_dirs) for c in plan.partitions]


def _written(plan: Plan) -> bytes:
    """The content of its file."""
    with TemporaryDirectory() as folder:
        write_plan(plan, Path(folder, "plan"))
        return Path(folder, "plan").read_bytes()
