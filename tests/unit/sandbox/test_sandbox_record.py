"""A sandbox record is read as it was written, and a damaged one is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sandbox import KafkaListener, Node, Role, SandboxSpec
from kafkabal.sandbox.sandbox_record import SandboxRecord, read_record, readable_records, recorded_folders, write_record

SPEC = SandboxSpec(
    brokers=2,
    listeners=(KafkaListener(name="TLS", protocol="SSL", advertised_ports={1: 77}),),
    properties={"a": "b"},
    broker_properties={2: {"c": "d"}},
    class_path=(Path("/x.jar"),),
    broker_class_path={2: (Path("/y.jar"),)},
)
RECORD = SandboxRecord(
    "mine",
    SPEC,
    "id",
    1.5,
    (Node(1, Role.BROKER_AND_CONTROLLER, "r0", {"PLAINTEXT": 1}), Node(2, Role.BROKER, None, {"PLAINTEXT": 2})),
)


def test_round_trip(tmp_path: Path) -> None:
    """A record equals itself after writing and reading."""
    write_record(RECORD, tmp_path)
    assert read_record(tmp_path) == RECORD


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "is not the record"), ("{}", "is not the record"), (None, "cannot read")],
)
def test_damage_is_named(text: str | None, complaint: str, tmp_path: Path) -> None:
    """An unreadable record is an input error, and its hint says what to do."""
    if text is not None:
        (tmp_path / "sandbox.json").write_text(text)
    with pytest.raises(InputFileError, match=complaint) as caught:
        read_record(tmp_path)
    assert "sandbox down" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("nodes", "complaint"),
    [
        ((Node(1, Role.BROKER, None, {}),), "broker 1 has no port"),
        ((Node(1, Role.BROKER, None, {"TLS": 9092}),), "broker 1 has no port"),
        ((Node(1, Role.BROKER, None, {"PLAINTEXT": 2**16}),), "broker 1: invalid port: 65536"),
        ((Node(1, Role.BROKER, None, {"PLAINTEXT": 1}),) * 2, "two nodes with the same id"),
    ],
)
def test_nodes_that_no_sandbox_has(nodes: tuple[Node, ...], complaint: str, tmp_path: Path) -> None:
    """A record whose nodes cannot be reached is refused on reading, and the hint says what to do."""
    write_record(replace(RECORD, nodes=nodes), tmp_path)
    with pytest.raises(InputFileError, match=complaint) as caught:
        read_record(tmp_path)
    assert "sandbox down" in (caught.value.hint or "")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """A record from a later kafkabal is refused."""
    write_record(RECORD, tmp_path)
    path = tmp_path / "sandbox.json"
    path.write_text(path.read_text().replace('"kafkabal_sandbox": 1', '"kafkabal_sandbox": 9'))
    with pytest.raises(InputFileError, match="newer kafkabal"):
        read_record(tmp_path)


def test_damaged_records_hide_no_others(tmp_path: Path) -> None:
    """All sandboxes are listed by name, and those with a readable record are read."""
    for name in ("b", "a", "damaged"):
        (tmp_path / name).mkdir()
        write_record(RECORD, tmp_path / name)
    (tmp_path / "damaged" / "sandbox.json").write_text("")
    (tmp_path / "no-sandbox").mkdir()
    (tmp_path / "no-record" / "sandbox.json").mkdir(parents=True)  # 'sandbox down' does not know it either
    assert [folder.name for folder in recorded_folders(tmp_path)] == ["a", "b", "damaged"]
    assert [folder.name for folder, _record in readable_records(tmp_path)] == ["a", "b"]


def test_an_unknown_node_is_refused_with_the_known_ones() -> None:
    """An unknown node is refused, and the error lists the known ones."""
    with pytest.raises(UsageError, match="unknown node: 3") as caught:
        RECORD.node(3)
    assert "2 (broker 2)" in (caught.value.hint or "")


def test_log_dirs_are_in_the_folder_of_their_broker() -> None:
    """Each broker has log dirs of its own."""
    assert RECORD.log_dirs(Path("/s"))[2] == [Path("/s/broker-2/d0"), Path("/s/broker-2/d1")]
