"""Plan files, our own and those of other tools."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, OutputError
from kafkabal.plan.plan import Action, PartitionChange, Placement, Plan, ScoreChange
from kafkabal.plan.plan_file import read_plan, write_plan

PLAN = Plan(
    partitions=(
        PartitionChange(
            topic="img",
            partition=0,
            replicas=(4, 3, 2),
            log_dirs=("any", "any", "/d1"),
            previous=Placement(replicas=(1, 3, 2), leader=3, log_dirs=("/d0", "/d0", "/d0")),
            bytes=120,
            log_dir_bytes=60,
            reason="disk: broker 1 at 1.41x its fair share",
        ),
        PartitionChange(
            topic="img",
            partition=1,
            replicas=(1, 2),
            log_dirs=("any", "any"),
            action=Action.ELECT,
            previous=Placement(replicas=(1, 2), leader=2, log_dirs=("any", "any")),
        ),
    ),
    cluster_id="Mk",
    taken_at="2026-01-01T00:00:00Z",
    options={"tolerance": 0.09, "scores": ["disk=1"]},
    seed=3,
    bound_bytes=118,
    scores={"disk": ScoreChange(before={"max": 1.41}, after={"max": 1.02})},
    warnings=("broker 7 stays at 1.14",),
)
TEXT = """\
{"version":1,"partitions":[
{"topic":"img","partition":0,"replicas":[4,3,2],"log_dirs":["any","any","/d1"],"kafkabal":{"previous":{"replicas":\
[1,3,2],"leader":3,"log_dirs":["/d0","/d0","/d0"]},"bytes":120,"log_dir_bytes":60,\
"reason":"disk: broker 1 at 1.41x its fair share"}},
{"topic":"img","partition":1,"replicas":[1,2],"log_dirs":["any","any"],"kafkabal":{"previous":{"replicas":[1,2],\
"leader":2,"log_dirs":["any","any"]},"action":"elect"}}
],
"kafkabal":{"plan_format":2,"plan_id":"ID","cluster_id":"Mk","taken_at":"2026-01-01T00:00:00Z",\
"options":{"tolerance":0.09,"scores":["disk=1"]},"seed":3,"moved_bytes":120,"log_dir_bytes":60,"bound_bytes":118,\
"scores":{"disk":{"before":{"max":1.41},"after":{"max":1.02}}},"warnings":["broker 7 stays at 1.14"]}}
"""


def encoded(tmp_path: Path) -> bytes:
    """The plan as it is written."""
    write_plan(PLAN, tmp_path / "written")
    return (tmp_path / "written").read_bytes()


def test_a_plan_is_reassignment_json_with_extra_keys(tmp_path: Path) -> None:
    """One partition a line; what Kafka's own tool reads stands where it looks for it."""
    assert encoded(tmp_path).decode().replace(PLAN.plan_id, "ID") == TEXT


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
def test_a_plan_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    """Compressed or not, nothing is lost."""
    write_plan(PLAN, tmp_path / name)
    assert read_plan(tmp_path / name) == PLAN
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_an_empty_plan_is_a_plan(tmp_path: Path) -> None:
    """Nothing to do is written and read too."""
    write_plan(Plan(partitions=(), cluster_id="Mk"), tmp_path / "p")
    assert read_plan(tmp_path / "p") == Plan(partitions=(), cluster_id="Mk")
    assert json.loads((tmp_path / "p").read_text())["partitions"] == []


def test_plain_reassignment_json_is_read(tmp_path: Path) -> None:
    """Of Kafka's own tool and others: sorted, dirs chosen by the broker, previous placement unknown, other keys
    ignored."""
    path = tmp_path / "p"
    path.write_text(
        '{"partitions":[{"topic":"b","partition":1,"replicas":[2,1],"weight":5},'
        '{"topic":"a","partition":10,"replicas":[1]},'
        '{"topic":"a","partition":9,"replicas":[3],"log_dirs":["/d"]}],"note":"x"}'
    )
    plan = read_plan(path)
    assert [str(c.name) for c in plan.partitions] == ["a-9", "a-10", "b-1"]
    assert [c.log_dirs for c in plan.partitions] == [("/d",), ("any",), ("any", "any")]
    assert plan.partitions[2].to_add == (2, 1)
    assert plan.partitions[2].to_remove == ()
    assert plan.cluster_id is None


def changed(**changes: Any) -> dict[str, Any]:
    """Plain reassignment JSON with something changed in its one partition."""
    return {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], **changes}]}


def planned(**options: Any) -> dict[str, Any]:
    """A plan without partitions and with these options."""
    return {"partitions": [], "kafkabal": {"plan_format": 2, "plan_id": "x", "options": options}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("{", "not a plan file"),
        ('{"version":1,\n"partitions":[\n{"topic":}]}', "line 3: not a plan file"),
        ('{"version":1,\n"partitions":[\n{"topic":', "line 3: not a plan file"),
        ("[]", "not a plan file: expected an object, not a list"),
        ('{"kafkabal_snapshot":1}\n{"broker":1}\n', "not a plan file, but a snapshot"),
        ('{"version":1}', "missing key: partitions"),
        ({"version": 2, "partitions": []}, "reassignment JSON version 2 is not supported, only 1"),
        (
            {"partitions": [], "kafkabal": {"plan_format": 3, "new": 1}},
            "plan format 3 is not supported; this kafkabal reads formats up to 2",
        ),
        ({"partitions": [], "kafkabal": {"plan_format": 0}}, "kafkabal.plan_format: must be at least 1"),
        ({"partitions": [], "kafkabal": {"plan_format": 1}}, "missing key: plan_id"),
        (planned(drain=5), "options of the plan: drain: expected a list, not a whole number"),
        (planned(exclude_topics=[7]), "options of the plan: exclude_topics"),
        (planned(tolerance="9%"), "options of the plan: tolerance: expected a number, not text"),
        (changed(replicas=[]), "t-0: no replicas"),
        (changed(replicas=[1, 1]), "t-0: duplicate broker"),
        (changed(replicas=["1"]), "expected a whole number, not text"),
        (changed(partition=-1), "t--1: invalid partition number"),
        (changed(log_dirs=["any"]), "t-0: 1 log_dirs for 2 replicas"),
        (changed(log_dirs=["any", "d1"]), "t-0: log dir must be 'any' or an absolute path, not 'd1'"),
        ({"partitions": changed()["partitions"] * 2}, "duplicate partition: t-0"),
        ({"topics": [{"topic": "t"}], "version": 1}, "missing key: partitions"),
    ],
)
def test_invalid_plans_are_refused(tmp_path: Path, content: Any, message: str) -> None:
    """The file and what is wrong with it, in one line of text."""
    path = tmp_path / "p"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputFileError) as error:
        read_plan(path)
    assert message in error.value.message
    assert error.value.message.startswith(str(path))
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    "data", [b"\xff\xfe{", gzip.compress(b'{"partitions":[]}', mtime=0)[:-9], b"\x1f\x8b\x08\x00" + b"x" * 50]
)
def test_a_corrupt_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """Bytes that are not text, a truncated compressed file, and one that cannot be unpacked."""
    (tmp_path / "p").write_bytes(data)
    with pytest.raises(InputFileError):
        read_plan(tmp_path / "p")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"replicas":[4,3,2],"log', '"replicas":[3,4,2],"log'),
        ('"leader":3', '"leader":1'),
        ('"tolerance":0.09', '"tolerance":0.1'),
        ('"cluster_id":"Mk"', '"cluster_id":"Xx"'),
        (',"action":"elect"', ""),
        ('"any","any","/d1"', '"any","any","/d0"'),
    ],
)
def test_a_plan_that_was_changed_by_hand_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    """The id no longer matches; the hint says how to apply it all the same."""
    path = tmp_path / "p"
    text = encoded(tmp_path).decode()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputFileError, match="edited after planning") as error:
        read_plan(path)
    assert "'kafkabal' key" in (error.value.hint or "")


def test_a_reason_may_be_reworded(tmp_path: Path) -> None:
    """The reasons do not affect what a plan does."""
    (tmp_path / "p").write_text(encoded(tmp_path).decode().replace("at 1.41 of its share", "is too full"))
    assert read_plan(tmp_path / "p").plan_id == PLAN.plan_id


def test_a_full_disk_leaves_the_old_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The previous file is unchanged."""
    (tmp_path / "p").write_text("old")

    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OutputError, match="No space left"):
        write_plan(PLAN, tmp_path / "p")
    assert (tmp_path / "p").read_text() == "old"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace(b"img", b"i\xffg", 1), "not a plan file: not UTF-8 text"),
        (lambda text: b'{"version":1,"partitions":' + b"[" * 100_000, "not a plan file"),
        (lambda text: text.replace(b'"bytes":120', b'"bytes":99999999999999999999'), "an integer of more than 63 bits"),
        (lambda text: text.replace(b'"bytes":120', b'"bytes":-120'), r"\.bytes: must be at least 0"),
        (lambda text: text.replace(b'"leader":3', b'"leader":3000000000'), r"previous.leader"),
        (lambda text: text.replace(b'["/d0","/d0","/d0"]', b'["/d0"]'), "1 log_dirs for 3 replicas"),
        (lambda text: text.replace(b'"topic":"img"', b'"topic":""'), "partition 0 has no topic"),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, damage: Any, message: str) -> None:
    """Broken text, endless nesting, numbers out of range and lists that do not match."""
    (tmp_path / "p").write_bytes(damage(encoded(tmp_path)))
    with pytest.raises(InputFileError, match=message):
        read_plan(tmp_path / "p")
