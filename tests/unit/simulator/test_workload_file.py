"""Workloads from YAML, and their errors."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kafkabal.config.yaml_document import parse_yaml
from kafkabal.errors import InputFileError, UsageError
from kafkabal.producer.record_names import RECORD_HEADER
from kafkabal.simulator.data_set_sizes import folder_sizes, manifest_sizes
from kafkabal.simulator.training_setup import load_trainings
from kafkabal.simulator.workload import (
    ArrivalProcess,
    BrokerEvent,
    BrokerEventKind,
    LogNormalSize,
    LogOverhead,
    UniformKeys,
    ZipfKeys,
)
from kafkabal.simulator.workload_cluster import Leaders, WorkloadCluster, build_workload_cluster
from kafkabal.simulator.workload_file import WorkloadFile, load_workload, read_workload, workload_names
from kafkabal.sources.folder_source import FolderSource
from tests.unit.sources.records_of import records_of

WHOLE = """\
bytes: 10GB
size: {lognormal: {mean: 110kB, sigma: 0.8}}
keys: {zipf: {keys: 100, exponent: 1.2}}
rate: 50MB/s
arrival: steady
producers: 4
metrics_interval: 500ms
transport: {batch: 1MiB, linger: 10ms, acks: 1, broker_rate: {default: 100MB/s, 3: 10MB/s}, request_time: {2: 20ms}}
log: {headers: 40B, compression: 60%}
events: [{at: 10s, broker: 3, becomes: slow, factor: 8}, {at: 1m, broker: 2, becomes: dead}]
cluster: {brokers: 4, racks: 2, leaders: brokers+2, replication_factor: 2, existing: {default: 1GB, 1: 2GB}}
"""


def read(text: str) -> WorkloadFile:
    """Read a document."""
    return read_workload(parse_yaml(text, "w.yaml"), "w")


def test_every_key_is_read() -> None:
    """A document with all keys yields all its values."""
    found = read(WHOLE)
    workload, cluster = found.workload, found.cluster

    assert (workload.records, workload.total_bytes) == (None, 10**10)
    assert workload.sizes == LogNormalSize(110_000, 0.8)
    assert workload.keys == ZipfKeys(100, 1.2)
    assert (workload.bytes_per_s, workload.process, workload.producers) == (50e6, ArrivalProcess.STEADY, 4)
    assert workload.metrics_interval_s == 0.5
    assert (workload.transport.batch_bytes, workload.transport.acks_all) == (2**20, False)
    assert (workload.transport.broker_bytes_per_s, workload.transport.own_bytes_per_s) == (100e6, {3: 10e6})
    assert workload.transport.own_request_s == {2: 0.02}
    assert (workload.log, workload.header_bytes) == (LogOverhead(header_bytes=40, compression=0.6), 40)
    assert workload.events[0] == BrokerEvent(at_s=10, broker=3, becomes=BrokerEventKind.SLOW, factor=8)
    assert workload.events[1].at_s == 60
    assert cluster == WorkloadCluster(
        brokers=4,
        racks=2,
        leaders=Leaders.BROKERS_PLUS_2,
        replication_factor=2,
        existing_bytes=10**9,
        own_existing_bytes={1: 2 * 10**9},
    )


@pytest.mark.parametrize("name", workload_names())
def test_built_in_workloads_load(name: str) -> None:
    """Every shipped workload loads under its name."""
    assert load_workload(name).workload.name == name


def test_unknown_workload_lists_near_ones() -> None:
    """An unknown name is answered with similar ones."""
    with pytest.raises(UsageError) as error:
        load_workload("evnts")

    assert error.value.message == "unknown workload: 'evnts'"
    assert error.value.hint == "did you mean: events, uneven, or a .yaml file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("record: 5", "unknown key in a workload: 'record'"),
        ("records: 0", "records must be 1 to 1,000,000,000,000, not 0"),
        ("records: 5\nbytes: 1GB", "records and bytes cannot be combined"),
        ("rate: fast", "invalid rate"),
        ("size: {lognormal: {mean: 1kB}}", "needs a mean and a sigma"),
        ("size: {gamma: 1}", "unknown key in size: 'gamma'"),
        ("keys: {zipf: {exponent: 1}}", "zipf needs a number of keys"),
        ("keys: some", "unknown value: 'some'"),
        ("events: [{at: 1s, broker: 2}]", "event without 'becomes'"),
        ("log: {header: 40B}", "unknown key in log: 'header'"),
        ("log: {headers: many}", "invalid size: 'many'"),
        ("log: {compression: 1.5}", "ambiguous percentage: '1.5'"),
        ("log: {compression: 150%}", "at most 100%"),
        ("log: {compression: 0}", "above 0%"),
        ("events: {at: 1s}", "expected a list of events"),
        ("events: [{at: 1s, broker: 2, becomes: tired}]", "unknown value: 'tired'"),
        ("records: 5\ntransport: {acks: 2}", "unknown value: '2'"),
        ("transport: {linger: 16m}", "to 15 min, not 16m"),
        ("events: [{at: 1s, broker: 2, becomes: slow}]", "needs 'factor', how many times slower"),
        (
            "events: [{at: 1s, broker: 2, becomes: dead, factor: 2}]",
            "'factor' applies to slow events only, not to dead",
        ),
        ("cluster: {brokers: 3, existing: {4: 1GB}}", "existing: unknown broker: 4"),
        ("cluster: {leaders: odd}", "unknown value: 'odd'"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, message: str) -> None:
    """Every mistake is reported in one line that names the place."""
    with pytest.raises(UsageError) as error:
        read(text)

    assert message in error.value.message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("records: 9999999999999", "records"),
        ("bytes: 5000PiB", "bytes"),
        ("size: 100TB", "size"),
        ("size: {fixed: 100TB}", "fixed"),
        ("size: {lognormal: {mean: 100TB, sigma: 1}}", "mean"),
        ("size: {lognormal: {mean: 1kB, sigma: inf}}", "sigma"),
        ("size: {lognormal: {mean: 1kB, sigma: nan}}", "sigma"),
        ("keys: {uniform: 5000000000}", "uniform"),
        ("keys: {zipf: {keys: 5000000000}}", "keys"),
        ("keys: {zipf: {keys: 5, exponent: inf}}", "exponent"),
        ("producers: 1000000000", "producers"),
        ("transport: {batch: 1TB}", "batch"),
        ("transport: {in_flight: 1000000000}", "in_flight"),
        ("transport: {buffer: 1PB}", "buffer"),
        ("transport: {buffer_records: 1000000000}", "buffer_records"),
        ("log: {headers: 1TB}", "headers"),
        ("events: [{at: 1s, broker: 2, becomes: slow, factor: inf}]", "factor"),
        ("events: [{at: 1s, broker: 2, becomes: slow, factor: 1e308}]", "factor"),
        ("events: [{at: 1s, broker: 2, becomes: slow, factor: nan}]", "factor"),
        ("cluster: {brokers: 1000000000}", "brokers"),
        ("cluster: {racks: 1000000000}", "racks"),
        ("cluster: {partitions: 999999999999}", "partitions"),
        ("cluster: {replication_factor: 1000}", "replication_factor"),
        ("cluster: {capacity: 5000PB}", "capacity"),
        ("cluster: {existing: {1: 5000PB}}", "1: existing"),
    ],
)
def test_numbers_without_measure_are_refused(text: str, key: str) -> None:
    """A number that exceeds memory or run time is refused with its key, its limits and its value."""
    with pytest.raises(InputFileError, match=rf"line 1: {key} must be .* (to|at most) [0-9,]+, not \w+$"):
        read(text)


def test_sizes_come_from_the_files_of_a_folder(tmp_path: Path) -> None:
    """Every file below a folder is a record, in the order of paths that produce uses, including empty files."""
    for name, size in (("b/2.jpg", 20), ("a/1.jpg", 10), ("empty", 0)):
        file = tmp_path / "data" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
    (tmp_path / "w.yaml").write_text("size: {folder: data}\nkeys: {uniform: 7}")
    workload = load_workload(str(tmp_path / "w.yaml")).workload

    assert workload.sizes.size_bytes.tolist() == [10, 20, 1]  # type: ignore[attr-defined]
    assert workload.sizes.draw(None, 1, 3).tolist() == [20, 1, 10]  # type: ignore[arg-type]
    assert len(FolderSource(tmp_path / "data").listing().parts) == 3
    assert workload.keys == UniformKeys(7)


def test_headers_of_a_data_set_are_those_that_produce_adds(tmp_path: Path) -> None:
    """Files count with path, checksum, label and name; records of a manifest with their name only; others with none."""
    for name in ("a/1", "a/2"):
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / name).write_text("x")
    source = FolderSource(tmp_path / "data")
    (record,) = records_of(source, source.listing().parts[0])
    named = [*record.headers, (RECORD_HEADER, b"0123456789abcdef/2")]
    expected = sum(2 + len(name) + len(value or b"") for name, value in named) + 1  # the checksum's length has 2 bytes
    (tmp_path / "sizes").write_text("5\n6\n")

    assert folder_sizes(tmp_path / "data").header_bytes == expected
    assert manifest_sizes(tmp_path / "sizes").header_bytes == 2 + len(RECORD_HEADER) + 18
    assert read("size: 1kB").workload.header_bytes == 0
    assert read("log: {headers: 7}\nsize: {manifest: " + str(tmp_path / "sizes") + "}").workload.header_bytes == 7


def test_sizes_come_from_a_manifest(tmp_path: Path) -> None:
    """Numbers and JSON objects with size_bytes, nested or not, are sizes; a run's other entries are not."""
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(
        '{"kafkabal_manifest":1}\n{"part":{"name":"x","size_bytes":7}}\n{"size_bytes":8}\n9\n\n0\n'
        '{"part":{"name":"-"}}\n{"through":3,"offsets":{"0":3}}\n{"void":1}\n{"state":"clean"}\n'
    )
    (tmp_path / "w.yaml").write_text("size: {manifest: m.jsonl}")

    sizes = load_workload(str(tmp_path / "w.yaml")).workload.sizes
    assert sizes.size_bytes.tolist() == [7, 8, 9, 1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", ["1e3", "-4", "true", "null", '"5"', '{"x":1}', '{"size_bytes":1.5}', "[5]"])
def test_a_line_without_a_size_is_refused(tmp_path: Path, line: str) -> None:
    """A manifest line that is neither a whole number of bytes nor a run's own entry is named."""
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(f"7\n{line}\n")

    with pytest.raises(InputFileError) as error:
        manifest_sizes(manifest)
    assert error.value.message == (
        f"{manifest}, line 2: no record size in {line}: expected a whole number from 0 to 17,592,186,044,416"
    )


def test_data_sets_without_data_are_refused(tmp_path: Path) -> None:
    """An empty or missing folder and a damaged manifest are named."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.jsonl").write_text("7\nseven\n")
    (tmp_path / "huge.jsonl").write_text("99999999999999999999\n")
    for text, message in (
        ("size: {folder: empty}", "contains no records"),
        ("size: {folder: missing}", "cannot read"),
        ("size: {manifest: bad.jsonl}", "line 2: neither a number nor JSON"),
        ("size: {manifest: huge.jsonl}", "line 1: an integer of more than 63 bits"),
    ):
        (tmp_path / "w.yaml").write_text(text)
        with pytest.raises(InputFileError, match=message):
            load_workload(str(tmp_path / "w.yaml"))


@pytest.mark.parametrize("text", ["", "# records: 1000\n", "{}\n", "~\n"])
def test_a_file_without_entries_is_refused(tmp_path: Path, text: str) -> None:
    """A user who names a file does not ask for the defaults."""
    path = tmp_path / "w.yaml"
    path.write_text(text)
    for read in (lambda: load_workload(str(path)), lambda: load_trainings(["nfs"], path)):
        with pytest.raises(InputFileError, match=re.escape(f"{path}: is empty")):
            read()


def test_synthetic_cluster_is_laid_out_as_asked() -> None:
    """Two brokers lead one more, followers are on the next brokers, and existing bytes are given by leader."""
    spec = WorkloadCluster(
        brokers=4, racks=2, leaders=Leaders.BROKERS_PLUS_2, replication_factor=2, own_existing_bytes={1: 600}, seed=3
    )
    cluster = build_workload_cluster(spec)

    assert cluster.partitions.leader.tolist()[:4] == [0, 1, 2, 3]
    assert len(cluster.partitions) == 6
    assert cluster.replicas.broker.tolist()[:4] == [0, 1, 1, 2]
    led = cluster.partitions.leader[cluster.replicas.partition[::2]] == 0
    assert cluster.replicas.size_bytes[::2][led].sum() == pytest.approx(600, abs=2)
    with pytest.raises(UsageError, match="replication factor 3 exceeds the 2 brokers"):
        build_workload_cluster(WorkloadCluster(brokers=2, replication_factor=3))


def test_leaders_and_partitions_that_contradict_each_other_are_refused() -> None:
    """A number of partitions that contradicts two more leaders than brokers is refused, and the error explains it."""
    spec = WorkloadCluster(brokers=3, leaders=Leaders.BROKERS_PLUS_2, partitions=5)
    assert len(build_workload_cluster(spec).partitions) == 5

    with pytest.raises(UsageError) as error:
        build_workload_cluster(replace(spec, partitions=7))
    assert error.value.message == "leaders: brokers+2 creates 5 partitions on 3 brokers, but 'partitions' is 7"
