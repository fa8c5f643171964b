"""``kafkabal advise`` on snapshots."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.model import BrokerRow, LogDirRow, TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOPSIDED = str(SNAPSHOTS / "lopsided.jsonl")


def test_both_pieces_of_advice(run_cli: Callable[..., Any]) -> None:
    """The number of brokers has its bound, and ways to free the fullest disk are listed: largest first, moves last."""
    advised = run_cli("advise", "--snapshot", LOPSIDED, "--limit", "20%", "-o", "json")
    assert advised.code == 0, advised.err
    found = json.loads(advised.out)
    assert found["bound_brokers"] <= found["sufficient_brokers"] == 3
    assert len(found["drain"]) == 3
    assert found["fullest_after"] <= 0.6
    ways = [row["way"] for row in found["relief"]]
    assert ways[0] == "retention"
    assert ways[-1] == "moves"
    freed = [row["freed_bytes"] for row in found["relief"] if row["config"]]
    assert freed == sorted(freed, reverse=True)
    assert all(row["moved_bytes"] == 0 for row in found["relief"] if row["config"])
    plan = json.loads(run_cli("rebalance", "plan", "--below", "20%", "--snapshot", LOPSIDED, "-o", "json").out)
    assert found["relief"][-1]["moved_bytes"] == plan["moved_bytes"] > found["needed_bytes"] > 0


def test_new_brokers_are_listed_under_the_ids_of_the_notes(run_cli: Callable[..., Any]) -> None:
    """A note about a broker that does not exist yet names one of those to add."""
    found = json.loads(run_cli("advise", "--snapshot", LOPSIDED, "--target", "10%", "-o", "json").out)
    named = {int(n) for note in found["notes"] for n in re.findall(r"^broker (\d+) remains", note)}
    assert named - {1, 2, 3, 4, 5, 6}
    assert named <= {1, 2, 3, 4, 5, 6} | {new["broker"] for new in found["add"]}


@pytest.mark.parametrize("form", ["table", "yaml", "csv", "markdown"])
def test_every_format(run_cli: Callable[..., Any], form: str) -> None:
    """Every format can be written."""
    assert run_cli("advise", "--snapshot", LOPSIDED, "-o", form).code == 0


def test_shows_the_next_command_and_changes_nothing(run_cli: Callable[..., Any]) -> None:
    """The shown commands can be pasted; the snapshot is unchanged."""
    before = Path(LOPSIDED).read_bytes()
    shown = run_cli("advise", "--snapshot", LOPSIDED)
    command = f"kafkabal rebalance plan --drain 4,5,6 --snapshot {LOPSIDED}"
    assert command in shown.out
    assert run_cli(*command.split()[1:]).code == 0
    assert Path(LOPSIDED).read_bytes() == before


def test_a_limit_is_handed_on_with_all_its_digits(run_cli: Callable[..., Any]) -> None:
    """The command uses the exact limit that was judged by, not a rounded one."""
    shown = run_cli("advise", "--snapshot", LOPSIDED, "--limit", "20.25%")
    assert "above the limit of 20.25%" in shown.out
    assert "kafkabal rebalance plan --below 20.25% --snapshot" in shown.out


def test_disks_that_other_programs_fill_are_named(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """No move relieves them: their brokers are drained once new ones join, and the headline counts these."""
    disk = LogDirRow(path="/d", total_bytes=1000 * GB, usable_bytes=200 * GB)
    rows = [BrokerRow(broker=b, rack=f"r{b}", log_dirs=[disk]) for b in (1, 2, 3)]
    shared = tmp_path / "shared.jsonl"
    write_snapshot(cluster(rows, [topic("t", [1, 2, 3], size_bytes=30 * GB)]), shared)

    shown = run_cli("advise", "--snapshot", str(shared))
    found = json.loads(run_cli("advise", "--snapshot", str(shared), "-o", "json").out)

    assert "3 brokers needed to stay below 60% each, 3 of them new (lower bound: 3)." in shown.out
    assert "other programs alone exceed 60% on brokers 1, 2, 3, which moving data cannot change" in shown.out
    assert "to drain, once the new brokers have joined: kafkabal rebalance plan --drain 1,2,3" in shown.out
    assert found["filled_by_others"] == found["drain"] == [1, 2, 3]


def test_moves_are_no_more_than_the_replicas_on_the_disk(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Beside 910 GB of other programs, which alone exceed the limit, a log dir is due nothing and gives up its 40 GB of
    replicas; its broker as a whole is below the limit, and the only copies can be led from nowhere else."""
    disks = [(1000, 50), (1000, 990), (1000, 1000), (1000, 1000)]
    dirs = [LogDirRow(path=f"/d{d}", total_bytes=t * GB, usable_bytes=u * GB) for d, (t, u) in enumerate(disks)]
    rows = [BrokerRow(broker=1, log_dirs=dirs[:2]), BrokerRow(broker=2, log_dirs=dirs[2:])]
    shared = tmp_path / "shared.jsonl"
    write_snapshot(cluster(rows, [topic("t", [1], [1], size_bytes=20 * GB)]), shared)

    advised = run_cli("advise", "--snapshot", str(shared), "-o", "json")

    found = json.loads(advised.out)
    assert [(row["way"], row["moved_bytes"]) for row in found["relief"]] == [("retention", 0), ("log-dirs", 40 * GB)]
    assert "other programs alone exceed 85% of /d0 of broker 1, which moving data cannot change" in found["notes"]


def test_moves_relieve_a_disk_that_other_programs_share(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The advised command moves as many bytes as the advice says, although the replicas alone are below the limit."""
    free = [100, 1000, 1000]
    rows = [
        BrokerRow(broker=b, log_dirs=[LogDirRow(path="/d", total_bytes=1000 * GB, usable_bytes=free[b] * GB)])
        for b in range(3)
    ]
    shared = tmp_path / "shared.jsonl"
    write_snapshot(cluster(rows, [topic("t", *[[0]] * 30, size_bytes=10 * GB)]), shared)

    found = json.loads(run_cli("advise", "--snapshot", str(shared), "-o", "json").out)
    plan = json.loads(run_cli("rebalance", "plan", "--below", "85%", "--snapshot", str(shared), "-o", "json").out)

    assert found["relief"][-1]["moved_bytes"] == plan["moved_bytes"] == 50 * GB


def test_bytes_that_commands_move_include_those_of_other_brokers(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Two brokers are full, and both are relieved: the table states what is freed on one disk, and what the command
    moves."""
    rows = [
        BrokerRow(broker=b, log_dirs=[LogDirRow(path=d, total_bytes=500 * GB) for d in ("/a", "/b")]) for b in range(4)
    ]
    full = [topic(f"t{b}", *[[b]] * 95, size_bytes=10 * GB) for b in range(2)]
    path = tmp_path / "full.jsonl"
    write_snapshot(cluster(rows, full), path)
    found = json.loads(run_cli("advise", "--snapshot", str(path), "-o", "json").out)
    for way, words, note in (
        ("moves", "--below 85%", "to move data off all brokers above 85%: "),
        ("log-dirs", "--log-dirs-only", "to balance the log dirs of all brokers: "),
    ):
        row = next(row for row in found["relief"] if row["way"] == way)
        shown = next(each.removeprefix(note) for each in found["notes"] if each.startswith(note))
        assert shown == f"kafkabal rebalance plan {words} --snapshot {path}"
        plan = json.loads(run_cli(*shown.split()[1:], "-o", "json").out)
        assert row["moved_bytes"] == plan["moved_bytes"] + plan["log_dir_bytes"]
        assert row["moved_bytes"] >= 2 * row["freed_bytes"] > 0


def test_a_full_log_dir_that_its_broker_cannot_relieve_is_relieved_by_balancing(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    """No replica of the full log dir fits into the other one, and the broker as a whole is below the limit."""
    rows = [
        BrokerRow(broker=b, log_dirs=[LogDirRow(path=d, total_bytes=100 * GB) for d in ("/a", "/b")]) for b in range(2)
    ]
    held = [[(0, 22)] * 4 + [(1, 71)], [(0, 80), (1, 50)]]
    topics = [
        TopicRow(topic=f"t{b}", partitions=[partition(n, [b], gb * GB, log_dirs=[d]) for n, (d, gb) in enumerate(each)])
        for b, each in enumerate(held)
    ]
    path = tmp_path / "full.jsonl"
    write_snapshot(cluster(rows, topics), path)
    found = json.loads(run_cli("advise", "--snapshot", str(path), "-o", "json").out)
    plan = json.loads(run_cli("rebalance", "plan", "--snapshot", str(path), "-o", "json").out)

    assert [row["way"] for row in found["relief"] if row["moved_bytes"]] == ["moves"]
    assert found["relief"][-1]["freed_bytes"] == plan["moved_bytes"] == 22 * GB > found["needed_bytes"] > 0
    assert f"to balance the cluster: kafkabal rebalance plan --snapshot {path}" in found["notes"]


def test_a_large_replica_cannot_move_in_part(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Of 60 and 20 GB on one of two disks, balancing frees the 20, not the half; nothing frees a single replica."""
    dirs = [LogDirRow(path=d, total_bytes=100 * GB) for d in ("/a", "/b")]
    rows = [BrokerRow(broker=b, log_dirs=dirs) for b in range(2)]
    for sizes, freed in (((60, 20), [20 * GB]), ((80,), [])):
        path = tmp_path / f"{len(sizes)}.jsonl"
        write_snapshot(cluster(rows, [topic(f"t{s}", [0], size_bytes=s * GB) for s in sizes]), path)
        found = json.loads(run_cli("advise", "--snapshot", str(path), "--limit", "50%", "-o", "json").out)
        assert [row["freed_bytes"] for row in found["relief"] if row["way"] == "log-dirs"] == freed


def test_an_unknown_number_of_brokers_is_not_zero(run_cli: Callable[..., Any]) -> None:
    """If the capacity of a broker is unknown, the headline gives no number."""
    advised = run_cli("advise", "--snapshot", str(SNAPSHOTS / "broken.jsonl"))
    assert advised.out.startswith("Number of brokers needed to stay below 60% each: unknown. Fullest disk: ")


def test_disks_of_dead_brokers_are_not_relieved(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """No advice frees the disk of a dead broker, even if its size is known."""
    rows = [BrokerRow(broker=1, state="dead", log_dirs=[LogDirRow(path="/d", total_bytes=GB, usable_bytes=0)])]
    dead = tmp_path / "dead.jsonl"
    write_snapshot(cluster(rows, [topic("t", [1])]), dead)
    refused = run_cli("advise", "--snapshot", str(dead))
    assert (refused.code, refused.out) == (2, "")
    assert "no live broker: disks of dead ones cannot be freed" in refused.err
    assert "set 'capacity'" not in refused.err


def test_a_broker_that_cannot_be_relieved_is_named(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The error is about the requested broker: other disks may be known."""
    disk = LogDirRow(path="/d", total_bytes=GB, usable_bytes=0)
    rows = [
        BrokerRow(broker=1, log_dirs=[disk]),
        BrokerRow(broker=2, state="dead", log_dirs=[disk]),
        BrokerRow(broker=3, log_dirs=[LogDirRow(path="/d")]),
    ]
    path = tmp_path / "mixed.jsonl"
    write_snapshot(cluster(rows, [topic("t", [1])]), path)
    for broker, says in (("2", "--broker: broker 2 is dead"), ("3", "broker 3 has no disk of known size")):
        refused = run_cli("advise", "--broker", broker, "--snapshot", str(path))
        assert (refused.code, says in refused.err) == (2, True), refused.err


def test_the_bytes_to_move_are_explained(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A cluster that needs all its brokers names the dead one whose replicas are replaced; one with too many, whom to
    drain; and the time is for a rate that is named."""
    disk = [LogDirRow(path="/d", total_bytes=9 * GB, usable_bytes=6 * GB)]
    rows = [BrokerRow(broker=b, state=s, log_dirs=disk) for b, s in ((1, "online"), (2, "online"), (3, "dead"))]
    path = tmp_path / "dead.jsonl"
    write_snapshot(cluster(rows, [topic("t", [1, 2], [2, 3], [3, 1], [1, 2], size_bytes=GB)]), path)
    note = (
        "balancing the brokers and replacing replicas of dead broker 3 moves 1.86 GiB, which takes .* at {} per broker"
    )
    for words, rate in (((), "50 MB/s"), (("--throttle", "5MB/s"), "5 MB/s")):
        assert re.search(note.format(rate), run_cli("advise", "--snapshot", str(path), *words).out)
    assert "draining brokers 4, 5, 6 moves " in run_cli("advise", "--snapshot", LOPSIDED).out


def test_unknown_capacity_still_gives_the_other_half(run_cli: Callable[..., Any]) -> None:
    """If the number of brokers cannot be computed, relief for the known disks is still shown."""
    advised = run_cli("advise", "--snapshot", str(SNAPSHOTS / "broken.jsonl"), "-o", "json")
    found = json.loads(advised.out)
    assert (advised.code, found["bound_brokers"]) == (0, None)
    assert found["headline"].startswith(
        "Number of brokers needed to stay below 60% each: unknown. Fullest disk: /data/d0"
    )
    assert found["relief"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "0%"], "--target must be above 0"),
        (["--limit", "101%"], "--limit must be above 0"),
        (["--broker", "99"], "--broker: unknown broker: 99"),
        (["--plan-for", "7d"], "no history of this cluster"),
    ],
)
def test_invalid_arguments(run_cli: Callable[..., Any], words: list[str], message: str) -> None:
    """Bad usage gives one clear line."""
    refused = run_cli("advise", "--snapshot", LOPSIDED, *words)
    assert refused.code in (1, 2)
    assert message in refused.err


@pytest.mark.parametrize(
    ("tiered", "way", "is_lost"), [("true", "local-retention", False), ("false", "retention", True)]
)
def test_data_that_the_remote_store_keeps_is_not_called_lost(
    run_cli: Callable[..., Any], tmp_path: Path, tiered: str, way: str, is_lost: bool
) -> None:
    """A shorter local retention deletes what is in the remote store, too; a shorter retention deletes it everywhere."""
    configs = {"remote.storage.enable": tiered, "retention.ms": "172800000", "segment.bytes": "1048576"}
    kept = tmp_path / "kept.jsonl"
    write_snapshot(cluster(brokers(1), [replace(topic("t", [1]), configs=configs)]), kept)

    found = json.loads(run_cli("advise", "--snapshot", str(kept), "-o", "json").out)

    assert [row["way"] for row in found["relief"]] == [way]
    assert any("cannot be restored" in note for note in found["notes"]) == is_lost
