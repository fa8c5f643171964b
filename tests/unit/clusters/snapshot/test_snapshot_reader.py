"""Snapshot files, good and bad."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.errors import ExitCode, InputFileError

HEADER = {"kafkabal_snapshot": 1, "cluster_id": "Mk", "taken_at": "2026-01-01T00:00:00Z", "source": "kafka"}
BROKER = {"broker": 1, "rack": "r0", "host": "b1", "port": 9092, "log_dirs": [{"path": "/d0", "total_bytes": 1000}]}
TOPIC = {
    "topic": "img",
    "partitions": [
        {"partition": 0, "leader": 1, "replicas": [1, 3], "isr": [1], "sizes": [120, None], "log_dirs": [0, None]}
    ],
    "configs": {"retention.ms": "604800000"},
}


def write(path: Path, *lines: Any) -> Path:
    """Write rows, or texts as they are."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text)
    return path


def test_a_snapshot_is_read(tmp_path: Path) -> None:
    """The example in the format description is read as intended."""
    state = read_snapshot(write(tmp_path / "s", HEADER, BROKER, TOPIC))
    assert (state.cluster_id, state.taken_at, state.source) == ("Mk", "2026-01-01T00:00:00Z", "kafka")
    assert state.brokers.id.tolist() == [1, 3]
    assert state.brokers.is_live.tolist() == [True, False]
    assert str(state.topic_partition(0)) == "img-0"
    assert state.replicas.size_bytes.tolist() == [120, -1]
    assert state.topics.configs == ({"retention.ms": "604800000"},)


@pytest.mark.parametrize(
    "lines",
    [
        (HEADER, TOPIC, BROKER),
        (HEADER, "", BROKER, "   ", TOPIC, ""),
        ({**HEADER, "new": 1}, {**BROKER, "new": {"topic": 1}}, {**TOPIC, "new": []}),
        (HEADER, BROKER, TOPIC, {"something_new": 1}),
        (HEADER, dict(reversed(BROKER.items())), dict(reversed(TOPIC.items()))),
        (HEADER, " " + json.dumps(BROKER), "  " + json.dumps(TOPIC) + " \r"),
    ],
    ids=["other order", "empty lines", "unknown keys", "unknown kinds of lines", "keys in any order", "blanks"],
)
def test_unknown_keys_are_ignored(tmp_path: Path, lines: tuple[Any, ...]) -> None:
    """Order, blanks, and additions of later versions."""
    state = read_snapshot(write(tmp_path / "s", *lines))
    assert state.brokers.id.tolist() == [1, 3]
    assert state.topics.name == ("img",)


def test_a_packed_snapshot_is_known_by_its_content(tmp_path: Path) -> None:
    """Whatever the file's name."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(gzip.compress(write(tmp_path / "plain", HEADER, BROKER, TOPIC).read_bytes()))
    assert read_snapshot(path).topics.name == ("img",)


def partition(**changes: Any) -> dict[str, Any]:
    """The topic with something changed in its one partition."""
    return {**TOPIC, "partitions": [{**TOPIC["partitions"][0], **changes}]}


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ((), None, "is empty"),
        (("nonsense",), 1, "not a kafkabal snapshot"),
        (("[]",), 1, "not a kafkabal snapshot"),
        (('{"version":1,"partitions":[',), 1, "not a kafkabal snapshot"),
        ((BROKER,), 1, "not a kafkabal snapshot: no header in the first line"),
        (
            ({**HEADER, "kafkabal_snapshot": 2},),
            1,
            "snapshot version 2 is not supported; this kafkabal reads versions up to 1",
        ),
        (({**HEADER, "kafkabal_snapshot": 0},), 1, "kafkabal_snapshot: must be at least 1"),
        (({**HEADER, "taken_at": "2026-13-45T99:00:00Z"},), 1, "taken_at: invalid time: '2026-13-45T99:00:00Z'"),
        (({**HEADER, "taken_at": ""},), 1, "taken_at: invalid time: ''"),
        (({**HEADER, "kafkabal_snapshot": "1"},), 1, "not a kafkabal snapshot"),
        (({"kafkabal_snapshot": 1},), 1, "missing key: cluster_id"),
        ((HEADER, BROKER, '{"topic":"img","partitions":['), 3, "invalid record"),
        ((HEADER, "", '{"broker":1'), 3, "invalid record"),
        ((HEADER, '{"broker":"1"}'), 2, "broker: expected a whole number, not text"),
        ((HEADER, '{"broker":1,"state":"asleep"}'), 2, "state: invalid value: 'asleep'"),
        ((HEADER, {"broker": 2**31}), 2, "invalid record"),
        ((HEADER, {**BROKER, "log_dirs": [{"path": "/d", "total_bytes": 2**63}]}), 2, "total_bytes"),
        (
            (HEADER, {**BROKER, "log_dirs": [{"path": "/d", "total_bytes": 10, "usable_bytes": 11}]}),
            2,
            "log dir /d of broker 1: usable_bytes 11 exceeds total_bytes 10",
        ),
        ((HEADER, BROKER, partition(partition=2**31)), 3, ": partitions[0].partition: must be "),
        ((HEADER, BROKER, partition(replicas=[1, 2**40])), 3, ": partitions[0].replicas[1]: must be "),
        ((HEADER, BROKER, partition(sizes=[2**63, None])), 3, ": partitions[0].sizes[0]: "),
        ((HEADER, BROKER, partition(in_bytes_per_s=-1.0)), 3, "in_bytes_per_s"),
        (
            (HEADER, BROKER, '{"topic":"t","partitions":[{"partition":0,"replicas":[1],"in_bytes_per_s":NaN}]}'),
            3,
            "valid",
        ),
        ((HEADER, BROKER, TOPIC, "", BROKER), 5, "duplicate broker: 1"),
        ((HEADER, BROKER, HEADER, TOPIC), 3, "second header"),
        ((HEADER, BROKER, {"broker": 2, "topic": "t", "partitions": []}), 3, "both a topic and a broker"),
        ((HEADER,), None, "contains no brokers"),
        ((HEADER, BROKER, "", TOPIC, TOPIC), 5, "duplicate topic: img"),
        ((HEADER, TOPIC, {"topic": "z", "partitions": [{"partition": 0, "replicas": []}]}, BROKER), 3, "z-0 has no"),
        ((HEADER, BROKER, partition(leader=9)), 3, "is led by broker 9"),
        ((HEADER, BROKER, partition(sizes=[1])), 3, "2 replicas but 1 sizes"),
        ((HEADER, BROKER, partition(log_dirs=[4, None])), 3, "is in log dir 4 of broker 1, which has fewer log dirs"),
        ((HEADER, BROKER, partition(future=[{"broker": 1, "log_dir": 7, "bytes": 1}])), 3, "log dir 7 of broker 1"),
        ((HEADER, BROKER, '{"topic":"\udcff"}'), 3, "invalid record"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(
    tmp_path: Path, lines: tuple[Any, ...], line: int | None, message: str
) -> None:
    """An unreadable file is reported by name and line, in one line of text, as a usage error."""
    path = tmp_path / "s"
    text = "".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in lines)
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputFileError) as error:
        read_snapshot(path)
    assert message in error.value.message
    assert error.value.line == line
    assert error.value.message.startswith(f"{path}, line {line}: " if line else f"{path}: ")
    assert "\n" not in error.value.message
    assert error.value.exit_code is ExitCode.USAGE


def test_of_a_repeated_key_the_last_value_counts(tmp_path: Path) -> None:
    """As in jq, Python and the JSON library of Kafka's tools; the format's reference says so."""
    text = json.dumps(TOPIC).replace('"leader": 1', '"leader": 1, "leader": 3')
    state = read_snapshot(write(tmp_path / "s", HEADER, BROKER, text))
    assert state.brokers.id[state.partitions.leader].tolist() == [3]


def test_a_packed_file_that_was_cut_off_is_named_by_the_line(tmp_path: Path) -> None:
    """The last line that could be unpacked is known."""
    lines = [HEADER, BROKER, *({**TOPIC, "topic": f"t{i}"} for i in range(5000))]
    packed = gzip.compress(write(tmp_path / "plain", *lines).read_bytes())
    for name, data in {"cut": packed[: len(packed) // 2], "spoilt": packed[:-1000] + b"x" * 1000}.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(InputFileError, match=name) as error:
            read_snapshot(path)
        assert error.value.line is not None
        assert 3 <= error.value.line <= len(lines) + 1


@pytest.mark.parametrize("name", ["none", "."])
def test_unreadable_files_are_refused(tmp_path: Path, name: str) -> None:
    """A missing file and a folder, with the system's reason."""
    with pytest.raises(InputFileError, match=r"cannot read: (No such file|is a folder)") as error:
        read_snapshot(tmp_path / name)
    assert error.value.line is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"a":' * 100_000, "line 3: invalid record: nested too deeply"),
        ({**TOPIC, "partitions": [{"partition": 0, "replicas": [1], "sizes": [2**62]}]}, r"line 3: .*sizes"),
        ({**TOPIC, "partitions": [{"partition": 0, "replicas": [1], "in_bytes_per_s": 1e300}]}, "line 3"),
    ],
)
def test_impossible_clusters_are_refused(tmp_path: Path, line: Any, message: str) -> None:
    """Endless nesting, and numbers beyond any volume or network."""
    with pytest.raises(InputFileError, match=message):
        read_snapshot(write(tmp_path / "s", HEADER, BROKER, line))


def test_sizes_that_add_up_to_too_much_are_refused(tmp_path: Path) -> None:
    """Each alone would be possible; their sum would not fit into 64 bits."""
    rows = [{"partition": n, "replicas": [1], "sizes": [2**60]} for n in range(3)]
    with pytest.raises(InputFileError, match="the bytes of all replicas add up to more than"):
        read_snapshot(write(tmp_path / "s", HEADER, BROKER, {"topic": "t", "partitions": rows}))


def test_a_packed_line_without_end_is_refused(tmp_path: Path) -> None:
    """A gigabyte in a megabyte is not unpacked."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(json.dumps(HEADER).encode() + b"\n" + b" " * 2**25))
    with pytest.raises(InputFileError, match=r"unpacks to more than 400 times its size|longer than"):
        read_snapshot(path)
