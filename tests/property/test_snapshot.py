"""Properties of snapshot files."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import InputFileError
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.state_to_rows import broker_rows, header_row, topic_rows
from kafkabal.testing.strategies import clusters


@given(cluster=clusters(), packed=st.booleans())
def test_a_state_is_read_as_it_was_written(cluster: ClusterState, packed: bool) -> None:
    """A file keeps everything, and writing what was read gives the same bytes."""
    with TemporaryDirectory() as folder:
        first, second = (Path(folder, f"{n}.jsonl{'.gz' if packed else ''}") for n in "ab")
        write_snapshot(cluster, first)
        again = read_snapshot(first)
        write_snapshot(again, second)
        assert first.read_bytes() == second.read_bytes()
    assert header_row(again) == header_row(cluster)
    assert list(broker_rows(again)) == list(broker_rows(cluster))
    assert list(topic_rows(again)) == list(topic_rows(cluster))


@given(cluster=clusters(max_brokers=3), data=st.data())
def test_a_damaged_file_is_refused_or_read_but_never_a_surprise(cluster: ClusterState, data: st.DataObject) -> None:
    """Whatever bytes are changed or missing, the result is a state or one line that names the file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "s")
        write_snapshot(cluster, path)
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        path.write_bytes(bytes(content[: data.draw(st.integers(at, len(content)))]))
        message = refusal_of(path)
    assert message is None or (message.startswith(str(path)) and "\n" not in message)


def refusal_of(path: Path) -> str | None:
    """Why a snapshot is refused; None if it can be read."""
    try:
        read_snapshot(path)
    except InputFileError as error:
        return error.message
    return None
