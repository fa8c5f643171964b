"""``kafkabal rebalance`` and its commands on snapshots: messages, files and exit codes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import NotAuthorizedError, OperationError, OutputError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.plan.plan_file import read_plan, write_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic
from tests.cli.simulated import simulate


def _apply(plan_file: Path, snapshot: Path) -> tuple[str, ...]:
    """The words of a command that applies a plan to a snapshot."""
    return ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--save", str(snapshot), "--yes")


def _replicas(path: Path) -> list[list[int]]:
    state = read_snapshot(path)
    ids = state.brokers.id[state.replicas.broker].tolist()
    first = state.partitions.first.tolist()
    return [ids[a:b] for a, b in itertools.pairwise(first)]


def test_apply_status_rollback(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """A plan is applied, reported as done, and rolled back; the snapshot follows."""
    before = _replicas(snapshot)
    done = run_cli(*_apply(plan_file, snapshot))
    assert (done.code, done.out.count("2 of 2 partitions moved")) == (0, 1)
    assert _replicas(snapshot) == [[3, 2], [3, 1], [1, 2]]

    status = run_cli("rebalance", "status", "--snapshot", str(snapshot), "-o", "json")
    assert status.code == 0
    assert json.loads(status.out)["stages"] == {"placed": 2}

    run = json.loads(status.out)["run_id"]
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    unnamed = run_cli("rebalance", "rollback", *words)
    assert (unnamed.code, f"'kafkabal rebalance rollback {run} --snapshot" in unnamed.err) == (2, True)
    unnamed = run_cli("rebalance", "rollback", "--snapshot", str(snapshot), "--dry-run")
    assert (unnamed.code, f"'kafkabal rebalance rollback {run} --dry-run --snapshot" in unnamed.err) == (2, True)
    resumed = run_cli("rebalance", "resume", *words)
    assert (resumed.code, "is complete: nothing to resume" in resumed.err) == (0, True)
    assert _replicas(snapshot) == [[3, 2], [3, 1], [1, 2]]

    tried = run_cli("rebalance", "rollback", run, "--snapshot", str(snapshot), "--dry-run", "-o", "json")
    assert (tried.code, json.loads(tried.out)["partitions"]) == (0, 2)
    assert _replicas(snapshot) == [[3, 2], [3, 1], [1, 2]]

    back = run_cli("rebalance", "rollback", run, *words)
    assert back.code == 0
    assert _replicas(snapshot) == before
    again = run_cli("rebalance", "resume", *words)
    assert (again.code, again.err.count("is rolled back: nothing to resume"), "undo" in again.err) == (0, 1, False)


def test_no_resume_is_proposed_for_what_another_tool_has_moved(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path
) -> None:
    """It would skip the partition again and end as before; nor is a rollback proposed of a rollback."""
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    run_cli(*_apply(plan_file, snapshot))
    run = json.loads(run_cli("rebalance", "status", "--snapshot", str(snapshot), "-o", "json").out)["run_id"]
    write_snapshot(cluster(brokers(3, dirs=2), [topic("t", [1, 3], [3, 1], [1, 2])]), snapshot)
    stays = "what another tool has moved stays there: make a new plan to move it\n"
    for back in (run_cli("rebalance", "rollback", run, *words), run_cli("rebalance", "resume", *words)):
        assert back.code == 1
        assert f"kafkabal: hint: {stays}  t-0: moved by another tool since planning; skipped\n" in back.err
    status = run_cli("rebalance", "status", "--snapshot", str(snapshot))
    assert (status.code, status.out.endswith(f"\n{stays}")) == (3, True)
    assert _replicas(snapshot) == [[1, 3], [2, 1], [1, 2]]


@pytest.mark.parametrize("named", [True, False])
def test_a_second_rollback_says_that_nothing_is_left_to_do(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, *, named: bool
) -> None:
    """A run that is rolled back already is not opened again, named or not; -q is silent and --dry-run says so too."""
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    assert run_cli(*_apply(plan_file, snapshot)).code == 0
    run = json.loads(run_cli("rebalance", "history", "--snapshot", str(snapshot), "-o", "json").out)["runs"][0][
        "run_id"
    ]
    assert run_cli("rebalance", "rollback", run, *words).code == 0
    (journal,) = snapshot.parent.rglob(f"{run}.jsonl")
    before = journal.read_bytes()

    name = (run,) if named else ()
    again = run_cli("rebalance", "rollback", *name, *words)
    assert (again.code, again.out, again.err) == (0, "", f"run {run} is already rolled back: nothing to do\n")
    quiet = run_cli("rebalance", "rollback", *name, *words, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    tried = run_cli("rebalance", "rollback", *name, "--snapshot", str(snapshot), "--dry-run")
    assert (tried.code, "already rolled back" in tried.err) == (0, True)
    assert journal.read_bytes() == before


def test_a_run_that_another_tool_has_repeated_can_be_rolled_back_again(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path
) -> None:
    """A rolled-back run whose placement has come back is still rolled back if it is named."""
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    before, applied = _replicas(snapshot), snapshot.with_name("applied.jsonl")
    assert run_cli(*_apply(plan_file, snapshot)).code == 0
    applied.write_bytes(snapshot.read_bytes())
    run = json.loads(run_cli("rebalance", "history", "--snapshot", str(snapshot), "-o", "json").out)["runs"][0][
        "run_id"
    ]
    assert run_cli("rebalance", "rollback", run, *words).code == 0
    snapshot.write_bytes(applied.read_bytes())

    assert run_cli("rebalance", "rollback", *words).code == 2
    assert run_cli("rebalance", "rollback", run, *words).code == 0
    assert _replicas(snapshot) == before


def test_a_move_waits_for_the_one_that_makes_room(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A copy that does not fit yet is retried once another has left its log dir, also on a snapshot."""
    rows = [
        replace(row, log_dirs=[replace(row.log_dirs[0], usable_bytes=(100 - used) * GB)])
        for row, used in zip(brokers(3, dir_bytes=100 * GB), (80, 20, 0), strict=True)
    ]
    parts = [partition(0, [1], 60 * GB), partition(1, [1], 20 * GB), partition(2, [2], 20 * GB)]
    path, plan = tmp_path / "cluster.jsonl", tmp_path / "plan.json"
    write_snapshot(cluster(rows, [TopicRow(topic="t", partitions=parts)]), path)
    changes = tuple(
        PartitionChange(
            topic="t",
            partition=number,
            replicas=(target,),
            log_dirs=("/d0",),
            previous=Placement(replicas=(source,), leader=source, log_dirs=("/d0",)),
            bytes=20 * GB,
        )
        for number, source, target in ((1, 1, 3), (2, 2, 1))
    )
    write_plan(Plan(partitions=changes, cluster_id="simulated"), plan)
    done = run_cli("rebalance", "apply", str(plan), "--snapshot", str(path), "--save", str(path), "--yes")

    assert (done.code, "2 of 2 partitions moved" in done.out) == (0, True)
    assert _replicas(path) == [[1], [3], [1]]


def test_apply_again_has_nothing_to_do(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """A plan that is already in place is not an error, and changes nothing."""
    words = _apply(plan_file, snapshot)
    run_cli(*words)
    again = run_cli(*words)
    assert (again.code, again.out) == (0, "")
    assert "nothing to do" in again.err


def _crash(state_dir: Path) -> Path:
    """Truncate the journal of the latest run in the middle, as after a crash."""
    journal = max(state_dir.rglob("*.jsonl"))
    lines = journal.read_bytes().splitlines(keepends=True)
    entered = next(i for i, line in enumerate(lines) if b'"phase":"moving"' in line)
    journal.write_bytes(b"".join(lines[: entered + 1]))
    return journal


@pytest.mark.parametrize("policy", ["resume", "refuse"])
def test_a_crashed_run_is_ended_first(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path, policy: str
) -> None:
    """With --yes a crashed run of this host is resumed before anything is planned, unless that is refused."""
    before = snapshot.read_bytes()
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    run_cli("rebalance", "apply", str(plan_file), *words)
    journal = _crash(tmp_path)
    snapshot.write_bytes(before)
    asked = run_cli("rebalance", "--snapshot", str(snapshot), "--save", f"{snapshot}.out")
    assert (asked.code, "is unfinished (phase: moving)" in asked.err) == (4, True)

    done = run_cli("rebalance", *words, "--on-unfinished", policy)
    if policy == "refuse":
        assert done.code == 4
        assert "is unfinished (phase: moving): finish it with" in done.err
        assert snapshot.read_bytes() == before
    else:
        assert done.code == 0
        assert f"run {journal.stem} is unfinished (phase: moving); resuming it first" in done.err
        assert journal.read_bytes().splitlines()[-1].startswith(b'{"record":"closed"')
        # the plan is resumed, then the last leaders are balanced
        assert _replicas(snapshot)[:2] == [[2, 3], [3, 1]]


def test_max_runtime_holds_for_a_run_that_is_resumed_first(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path
) -> None:
    """The command's limit ends it, not that of the crashed run; nothing is started afterwards."""
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    run_cli("rebalance", "apply", str(plan_file), *words)
    journal = _crash(tmp_path)
    done = run_cli("rebalance", *words, "--max-runtime", "0.001ms")
    assert (done.code, "--max-runtime reached" in done.err) == (3, True)
    assert max(tmp_path.rglob("*.jsonl")) == journal


def test_a_stopped_run_is_rolled_back_unnamed(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path
) -> None:
    """A run that stopped early needs no name, as ``status`` and the docs say."""
    before = _replicas(snapshot)
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    run_cli("rebalance", "apply", str(plan_file), *words)
    _crash(tmp_path)
    assert run_cli("rebalance", *words, "--max-runtime", "0.001ms").code == 3
    back = run_cli("rebalance", "rollback", *words)
    assert (back.code, back.out.count("rolled back")) == (0, 1)
    assert _replicas(snapshot) == before


def test_a_crashed_run_of_another_host_is_not_resumed(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path
) -> None:
    """A run of another host is not resumed unasked."""
    words = ("--snapshot", str(snapshot), "--save", str(snapshot), "--yes")
    run_cli("rebalance", "apply", str(plan_file), *words)
    journal = _crash(tmp_path)
    header, _, rest = journal.read_bytes().partition(b"\n")
    journal.write_bytes(json.dumps(json.loads(header) | {"host": "elsewhere"}).encode() + b"\n" + rest)
    refused = run_cli("rebalance", "apply", str(plan_file), *words)
    assert refused.code == 4


@pytest.mark.parametrize("words", [(), ("apply",), ("resume",), ("cancel",), ("rollback",), ("repair",)], ids=str)
def test_commands_that_restore_throttles_take_controllers(run_cli: Callable[..., Any], words: tuple[str, ...]) -> None:
    """The configs of a dead broker are changed through controllers: all these commands accept their addresses."""
    assert "--bootstrap-controller" in run_cli("rebalance", *words, "--help").out


@pytest.mark.parametrize("throttle", ["none", "7MB", "auto"])
def test_the_throttle_shapes_no_plan(run_cli: Callable[..., Any], snapshot: Path, throttle: str) -> None:
    """The plan shown by a dry run, written to a file and applied is the same under any throttle."""
    words = ("--snapshot", str(snapshot))
    plan_id = json.loads(run_cli("rebalance", "plan", *words, "-o", "json").out)["plan_id"]
    dry_run = run_cli("rebalance", *words, "--dry-run", "--throttle", throttle)
    assert f"plan: {plan_id}" in dry_run.out
    run_cli("rebalance", *words, "--save", str(snapshot), "--yes", "--throttle", throttle)
    assert json.loads(run_cli("rebalance", "status", *words, "-o", "json").out)["plan_id"] == plan_id


def test_only_a_throttle_that_is_given_changes_a_run_that_is_resumed(
    run_cli: Callable[..., Any], snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profile's throttle applies to new runs; a resumed run keeps its own options unless --throttle is given."""
    windows = []

    def resume(_workplace: Any, *, options: Any, **_: Any) -> None:
        windows.append(options and options.window)
        raise OperationError("far enough")

    monkeypatch.setattr("kafkabal.executor.resume", resume)
    profile = tmp_path / "p.yaml"
    profile.write_text("window: 01:00-05:00\nthrottle: 7MB\n")
    words = ("rebalance", "resume", "--snapshot", str(snapshot), "--save", f"{snapshot}.out", "--profile", str(profile))
    run_cli(*words, "--throttle", "8MB")
    run_cli(*words)
    assert windows == ["01:00-05:00", None]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("8MiB",), "8.00 MiB/s per broker"),
        (("auto", "--log-dir-throttle", "7MiB"), "an automatic rate and 7.00 MiB/s between log dirs"),
    ],
)
def test_another_throttle(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    """An interrupted run uses the new rate once resumed; requesting no change is a usage error."""
    run_cli(*_apply(plan_file, snapshot))
    _crash(tmp_path)
    asked = run_cli("rebalance", "throttle", *words, "--snapshot", str(snapshot))
    assert "no process holds the lock of the cluster now" in asked.err
    resume = f"kafkabal rebalance resume --snapshot {snapshot} --save NEW_FILE"
    assert f"will use {said} once it is resumed, with '{resume}'" in asked.err
    assert run_cli("rebalance", "throttle", "--snapshot", str(snapshot)).code == 2


def test_another_throttle_while_the_lock_cannot_be_read(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the lock's coordinator is unavailable, the command says that the lock cannot be read."""

    def no_coordinator(_: Any) -> tuple[None, str]:
        return None, "coordinator of group g not available"

    run_cli(*_apply(plan_file, snapshot))
    _crash(tmp_path)
    monkeypatch.setattr("kafkabal.executor.current_holder", no_coordinator)
    asked = run_cli("rebalance", "throttle", "8MiB", "--snapshot", str(snapshot))
    assert asked.code == 0
    assert "within seconds if a process works on it, otherwise once it is resumed" in asked.err
    assert "the lock of the cluster cannot be read: coordinator of group g not available" in asked.err


def test_jsonl(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """Every line is an object: the first is the envelope, the last the end."""
    done = run_cli(*_apply(plan_file, snapshot), "-o", "jsonl", "-q")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0] == {"kafkabal": {"command": "rebalance apply", "version": 1}}
    assert [lines[1]["event"], lines[-1]["event"]] == ["phase", "finished"]
    assert lines[-1]["outcome"] == "complete"
    assert done.err.splitlines() in ([], [line for line in done.err.splitlines() if "warning" in line])


def test_jsonl_of_a_command_with_nothing_to_do(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """The envelope is there although no event follows it."""
    assert run_cli(*_apply(plan_file, snapshot)).code == 0
    nothing = run_cli(*_apply(plan_file, snapshot), "-o", "jsonl")
    assert (nothing.code, nothing.err) == (0, "nothing to do: all partitions are as planned\n")
    assert json.loads(nothing.out) == {"kafkabal": {"command": "rebalance apply", "version": 1}}


def test_json(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """One document with what was done and where the journal is."""
    done = run_cli(*_apply(plan_file, snapshot), "-o", "json", "-q")
    document = json.loads(done.out)
    assert (document["outcome"], document["done_partitions"], document["left_throttles"]) == ("complete", 2, [])


def test_dry_run(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """The requests are shown in order, nothing is changed, and the exit code is set on request."""
    before = snapshot.read_bytes()
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--dry-run")
    shown = run_cli(*words)
    assert shown.code == 0
    assert "other hosts" not in shown.err, "a snapshot has no others"
    assert "AlterPartitionReassignments t-0: 3,2" in shown.out
    assert "AlterReplicaLogDirs t-0 on broker 3: /d1" in shown.out
    assert snapshot.read_bytes() == before
    assert run_cli(*words, "--exit-code").code == 3


def test_a_long_dry_run_is_cut(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A plan of a hundred partitions lists the first twenty changes, with short values; --all and JSON list all."""
    snapshot = tmp_path / "state.jsonl"
    write_snapshot(cluster(brokers(3), [topic("t", *[[1, 2]] * 200)]), snapshot)
    words = ("rebalance", "--snapshot", str(snapshot), "--dry-run")

    cut, full = run_cli(*words), run_cli(*words, "--all")
    requests = json.loads(run_cli(*words, "-o", "json").out)["requests"]

    lines = cut.out.splitlines()
    changes = [line for line in lines if " s  " in line]
    assert len(changes) == 20
    assert max(map(len, changes)) < 200
    assert lines[-1] == f"and {len(requests) - 20:,} more, listed by -o json"
    assert f"{len(requests):,} requests, about " in cut.err
    assert sum(" s  " in line for line in full.out.splitlines()) == len(requests) > 100


def test_a_long_dry_run_reads_the_whole_cluster_a_few_times(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dry run of half an hour of copies on a snapshot reads free disk space every few minutes, not at every turn."""
    readings: list[InMemoryCluster] = []
    read = InMemoryCluster.read

    def noted(self: InMemoryCluster, request: ReadRequest) -> Reading:
        readings.append(self)
        return read(self, request)

    monkeypatch.setattr(InMemoryCluster, "read", noted)
    snapshot = tmp_path / "state.jsonl"
    write_snapshot(cluster(brokers(20), [topic("t", *[[1, 2]] * 200)]), snapshot)
    shown = run_cli("rebalance", "--snapshot", str(snapshot), "--dry-run", "-o", "json")
    assert json.loads(shown.out)["elapsed_s"] > 1200
    assert len(readings) < 20


def test_a_dry_run_takes_as_long_as_its_busiest_broker(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Copies between thirty pairs of brokers run at once, a hundred each: 100 s in all, like those of one pair."""
    pairs = [(b, b + 1) for b in range(1, 60, 2)]
    snapshot, plan = tmp_path / "state.jsonl", tmp_path / "plan.json"
    topics = [topic(f"t{b}", *[[b]] * 100, size_bytes=GB // 10) for b, _ in pairs]
    write_snapshot(cluster(brokers(60), topics), snapshot)
    changes = tuple(
        PartitionChange(
            topic=f"t{a}",
            partition=number,
            replicas=(b,),
            log_dirs=("any",),
            previous=Placement(replicas=(a,), leader=a, log_dirs=("/d0",)),
            bytes=GB // 10,
        )
        for a, b in pairs
        for number in range(100)
    )
    write_plan(Plan(partitions=changes, cluster_id="simulated"), plan)
    shown = run_cli("rebalance", "apply", str(plan), "--snapshot", str(snapshot), "--dry-run", "-o", "json")
    assert 100 <= json.loads(shown.out)["elapsed_s"] < 110


def test_a_dry_run_in_json_has_one_shape(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """JSON lists the moves and the requests, from a plan file or without, with something to do or nothing."""
    on = ("--snapshot", str(snapshot), "--dry-run", "-o", "json")
    applied = json.loads(run_cli("rebalance", "apply", str(plan_file), *on, "-q").out)
    planned = json.loads(run_cli("rebalance", *on).out)
    nothing = json.loads(run_cli("rebalance", *on, "--below", "99%").out)

    assert {"at_s", "api", "resource", "value"} == applied["requests"][0].keys()
    assert ("AlterPartitionReassignments", "t-0", "3,2") in {
        (request["api"], request["resource"], request["value"]) for request in applied["requests"]
    }
    assert len(applied["moves"]) == applied["partitions"] == 2
    assert applied.keys() == planned.keys() == nothing.keys()
    assert (nothing["requests"], nothing["moves"], nothing["elapsed_s"]) == ([], [], 0)


def test_a_quiet_dry_run_says_it_by_its_exit_code(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """With -q it prints nothing on exit 0, and --exit-code tells whether there is something to do."""
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--dry-run", "-q")
    quiet, pending = run_cli(*words), run_cli(*words, "--exit-code")
    assert (quiet.code, quiet.out) == (0, "")
    assert (pending.code, pending.out) == (3, "")


def test_a_dry_run_has_no_events(run_cli: Callable[..., Any], snapshot: Path) -> None:
    """Nothing happens in it, so that lines of events are refused instead of mixed with requests."""
    refused = run_cli("rebalance", "--snapshot", str(snapshot), "--dry-run", "-o", "jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert "--dry-run" in refused.err


def test_drift(run_cli: Callable[..., Any], tmp_path: Path, plan_file: Path) -> None:
    """A plan that no longer matches is refused with exit 4, naming the partition; the rest can be applied."""
    path = tmp_path / "changed.jsonl"
    write_snapshot(cluster(brokers(3, dirs=2), [topic("t", [1, 2], [1, 2], [1, 2])]), path)
    words = _apply(plan_file, path)
    refused = run_cli(*words)
    assert refused.code == 4
    assert "t-1 was on brokers 2,1 and is now on 1,2" in refused.err
    assert run_cli(*words, "--skip-drifted").code == 0
    assert _replicas(path) == [[3, 2], [1, 2], [1, 2]]


def test_topics_deleted_since_planning_stop_no_rebalance(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where topics come and go every second a nightly rebalance still moves the others; a partition that another tool
    has moved since refuses the plan."""
    from kafkabal import planner

    brief, lasting = (topic(name, *[(1, 2)] * 6) for name in ("brief", "lasting"))
    simulation = simulate(InMemoryCluster.of(cluster(brokers(4), [brief, lasting])), run_cli, monkeypatch)
    kafka, make_plan = simulation.memory.kafka, planner.make_plan

    def changed_meanwhile(change: Callable[[Plan], object]) -> Any:
        """Rebalance while the cluster is changed right after planning."""

        def planned(*words: Any) -> Plan:
            plan = make_plan(*words)
            change(plan)
            return plan

        monkeypatch.setattr(planner, "make_plan", planned)
        return simulation.run("rebalance", "--yes", "--throttle", "none")

    moved = changed_meanwhile(
        lambda plan: simulation.memory.alter_reassignments({plan.partitions[0].name: (2, 1)}) or kafka.catch_up()
    )
    assert moved.code == 4
    assert "1 planned partition changed since planning" in moved.err
    deleted = changed_meanwhile(lambda _: kafka.delete_topic("brief"))
    assert deleted.code == 0, deleted.err
    assert "no longer exists" in deleted.err
    assert {broker for replicas in simulation.replicas().values() for broker in replicas} == {1, 2, 3, 4}


def test_other_cluster(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path) -> None:
    """A plan for another cluster is refused with exit 4 and cannot be forced."""
    plan = read_plan(plan_file)
    other = tmp_path / "other.json"
    write_plan(Plan(partitions=plan.partitions, cluster_id="elsewhere"), other)
    words = (*_apply(other, snapshot), "--force")
    refused = run_cli(*words)
    assert refused.code == 4
    assert "the plan is for cluster elsewhere, this is simulated" in refused.err


def test_asks_first(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """Without --yes apply prompts; a no changes nothing, and without a terminal the error names the flag."""
    saved = snapshot.with_suffix(".out")
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--save", str(saved))
    refused = run_cli(*words, stdin="n\n")
    assert refused.code == 1
    assert "nothing changed" in refused.err
    nobody = run_cli(*words)
    assert nobody.code == 2
    assert "--yes" in nobody.err
    assert _replicas(saved) == _replicas(snapshot)


def test_plain_kafka_plan(run_cli: Callable[..., Any], snapshot: Path, tmp_path: Path) -> None:
    """JSON of Kafka's own tool is applied the same way."""
    foreign = tmp_path / "reassign.json"
    entries = [{"topic": "t", "partition": 2, "replicas": [3, 1]}]
    foreign.write_text(json.dumps({"version": 1, "partitions": entries}))
    assert run_cli(*_apply(foreign, snapshot)).code == 0
    assert _replicas(snapshot)[2] == [3, 1]


@pytest.mark.parametrize("command", ["resume", "rollback", "cancel"])
def test_no_run(run_cli: Callable[..., Any], snapshot: Path, command: str) -> None:
    """Commands that need a run say that there is none."""
    refused = run_cli("rebalance", command, "--snapshot", str(snapshot), "--save", f"{snapshot}.out")
    assert refused.code == 2
    assert "no run found" in refused.err


def test_status_of_no_run(run_cli: Callable[..., Any], snapshot: Path) -> None:
    """Having no run is not a finding."""
    status = run_cli("rebalance", "status", "--snapshot", str(snapshot))
    assert status.code == 0
    assert "no run found" in status.out


@pytest.mark.parametrize("window", ["5-6", "25:00-26:00", "01:00-01:00"])
def test_bad_window(run_cli: Callable[..., Any], window: str) -> None:
    """An invalid window is refused before the snapshot is read."""
    refused = run_cli("rebalance", "--snapshot", "no/such/file", "--yes", "--window", window)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("kafkabal: error: --window: ")
    assert "time window" in refused.err


def test_no_runtime_at_all(run_cli: Callable[..., Any]) -> None:
    """A runtime limit of zero is refused as a mistake."""
    refused = run_cli("rebalance", "--snapshot", "no/such/file", "--max-runtime", "0s")
    assert (refused.code, refused.err.splitlines()[0]) == (
        2,
        "kafkabal: error: --max-runtime: duration must be above 0: '0s'",
    )


def test_textfile(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path) -> None:
    """At the end the textfile reports that the run has ended and succeeded."""
    path = tmp_path / "run.prom"
    words = (
        "rebalance",
        "apply",
        str(plan_file),
        "--snapshot",
        str(snapshot),
        "--save",
        str(snapshot),
        "--yes",
        "--textfile",
        str(path),
    )
    assert run_cli(*words).code == 0
    families = {family.name: family.samples for family in text_string_to_metric_families(path.read_text())}
    values = {name: sample.value for name, (sample,) in families.items()}
    assert values["kafkabal_rebalance_running"] == 0
    assert values["kafkabal_rebalance_success"] == 1
    assert values["kafkabal_rebalance_done_partitions"] == 2
    assert {sample.labels["cluster"] for (sample,) in families.values()} == {read_snapshot(snapshot).cluster_id}


@pytest.mark.parametrize("is_dry", [False, True])
def test_a_run_with_nothing_to_do_updates_the_textfile(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path, is_dry: bool
) -> None:
    """Monitoring sees a run that has just completed instead of an earlier failure; a dry run is not a run."""
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--yes")
    saving = ("--save", str(snapshot))
    assert run_cli(*words, *saving).code == 0
    path = tmp_path / "run.prom"
    path.write_text("kafkabal_rebalance_success 0.0\n")
    again = run_cli(*words, *(["--dry-run"] if is_dry else saving), environ={"KAFKABAL_TEXTFILE": str(path)})
    assert again.code == 0, again.err
    families = {family.name: family.samples for family in text_string_to_metric_families(path.read_text())}
    values = {name: sample.value for name, (sample,) in families.items()}
    if is_dry:
        assert values == {"kafkabal_rebalance_success": 0}
        return
    assert values["kafkabal_rebalance_success"] == 1
    assert (values["kafkabal_rebalance_running"], values["kafkabal_rebalance_done_partitions"]) == (0, 0)
    assert values["kafkabal_rebalance_left_throttles"] == 0
    assert values["kafkabal_rebalance_finished_timestamp_seconds"] > 0


@pytest.mark.parametrize("is_dry", [False, True])
def test_a_run_that_is_refused_shows_in_the_textfile(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, tmp_path: Path, is_dry: bool
) -> None:
    """A refused run replaces the success of the night before; a dry run is not a run."""
    write_snapshot(cluster(brokers(3, dirs=2), [topic("t", [1, 2], [1, 2], [1, 2])]), snapshot)
    path = tmp_path / "run.prom"
    path.write_text("kafkabal_rebalance_success 1.0\n")
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--yes")
    saving = ["--save", str(snapshot)]

    refused = run_cli(*words, *(["--dry-run"] if is_dry else saving), environ={"KAFKABAL_TEXTFILE": str(path)})

    assert refused.code == 4, refused.err
    families = {family.name: family.samples for family in text_string_to_metric_families(path.read_text())}
    values = {name: sample.value for name, (sample,) in families.items()}
    assert values["kafkabal_rebalance_success"] == is_dry
    if not is_dry:
        assert values["kafkabal_rebalance_running"] == 0
        assert values["kafkabal_rebalance_finished_timestamp_seconds"] > 0


def test_a_cluster_that_cannot_be_reached_shows_in_the_textfile(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The textfile is labelled with the bootstrap servers, since the cluster id is unknown."""
    path = tmp_path / "run.prom"

    failed = run_cli("rebalance", "-b", "127.0.0.1:1", "--yes", "--textfile", str(path))

    assert failed.code == 1
    assert 'kafkabal_rebalance_success{cluster="127.0.0.1:1"} 0.0' in path.read_text()


@pytest.mark.parametrize("option", ["--textfile", "--rollback-file"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run_is_recorded(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, option: str
) -> None:
    """A run whose files cannot be written is refused before it starts, and leaves nothing to resume."""
    world = ("--snapshot", str(snapshot))
    outcome = run_cli("rebalance", "apply", str(plan_file), *world, "--yes", option, "/no/such/f")
    assert (outcome.code, outcome.out) == (1, "")
    assert "/no/such/f: cannot write" in outcome.err
    assert "no run found" in run_cli("rebalance", "status", *world).out


def test_an_unwritable_textfile_does_not_stop_the_run(
    run_cli: Callable[..., Any],
    snapshot: Path,
    plan_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A textfile that becomes unwritable causes one warning, with -q too, and the run completes."""

    def refuse(path: Path) -> None:
        raise OutputError(f"{path}: cannot write: disk full")

    monkeypatch.setattr("kafkabal.reporting.textfile_writer.replacing", refuse)
    words = _apply(plan_file, snapshot)
    outcome = run_cli(*words, "--textfile", str(tmp_path / "run.prom"), "-q")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("disk full") == 1


CHANGING = [
    ("rebalance", "--yes"),
    ("rebalance", "apply", "PLAN", "--yes"),
    ("rebalance", "resume"),
    ("rebalance", "rollback"),
    ("rebalance", "cancel"),
    ("create", "new", "-p", "3", "-r", "2"),
]


@pytest.mark.parametrize("words", CHANGING, ids=" ".join)
def test_a_snapshot_that_is_read_is_never_written(
    run_cli: Callable[..., Any], snapshot: Path, plan_file: Path, words: tuple[str, ...]
) -> None:
    """Commands that would change it need --save; saving to the same file is asked for; a live cluster has nothing to
    save."""
    before = snapshot.read_bytes()
    words = tuple(str(plan_file) if word == "PLAN" else word for word in words)
    refused = run_cli(*words, "--snapshot", str(snapshot))
    assert (refused.code, "only read, never written" in refused.err, "--save FILE" in refused.err) == (2, True, True)
    if "--yes" not in words:
        asked = run_cli(*words, "--snapshot", str(snapshot), "--save", str(snapshot), stdin="n\n")
        assert (asked.code, "overwrite" in asked.err) == (1, True)  # as after any other no
    live = run_cli(*words, "-b", "127.0.0.1:1", "--save", f"{snapshot}.out")
    assert (live.code, "--save requires --snapshot" in live.err) == (2, True)
    assert snapshot.read_bytes() == before


def test_the_result_goes_to_another_file(run_cli: Callable[..., Any], snapshot: Path, plan_file: Path) -> None:
    """The source stays unchanged to the byte, also in a dry run, which saves nothing."""
    before, saved = snapshot.read_bytes(), Path(f"{snapshot}.out")
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot))
    assert run_cli(*words, "--dry-run").code == 0
    assert run_cli(*words, "--dry-run", "--save", str(saved)).code == 2
    assert not saved.exists()
    assert run_cli(*words, "--save", str(saved), "--yes").code == 0
    assert snapshot.read_bytes() == before
    assert _replicas(saved) == [[3, 2], [3, 1], [1, 2]]


def test_a_copy_that_never_arrives_ends_a_run_on_a_snapshot_soon(
    run_cli: Callable[..., Any], tmp_path: Path, plan_file: Path
) -> None:
    """With unknown log dirs no move would end on a snapshot, where waiting changes nothing: the run stops soon."""
    path = tmp_path / "silent.jsonl"
    rows = brokers(3, dirs=2)
    rows[2] = replace(rows[2], log_dirs=[])
    write_snapshot(cluster(rows, [topic("t", [1, 2], [2, 1], [1, 2])]), path)
    words = ("rebalance", "apply", str(plan_file), "--snapshot", str(path), "--save", f"{path}.out", "--yes", "--force")
    done = run_cli(*words)
    assert done.code in (1, 4), done.err


def test_status_does_not_take_a_record_that_it_may_not_read_for_none(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unreadable runs of other hosts are reported with the missing permission and exit 1, not as settled."""
    rows = [TopicRow(topic="img", partitions=[partition(0, [1, 2], 1)])]
    memory = InMemoryCluster.of(cluster(brokers(3), rows))

    def deny(_: object, *, within_s: float | None = None) -> Any:
        raise NotAuthorizedError("cannot read topic __kafkabal", hint="grant Read on topic __kafkabal")

    simulation = simulate(memory, run_cli, monkeypatch)
    assert simulation.run("rebalance", "status").code == 0
    monkeypatch.setattr(type(memory.records()), "get_all", deny)
    refused = simulation.run("rebalance", "status")
    assert (refused.code, refused.out) == (1, "")
    assert "others are unknown: cannot read topic __kafkabal" in refused.err
    assert "grant Read on topic __kafkabal" in refused.err
