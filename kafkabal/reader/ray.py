"""A topic as a Ray Data data set: pinned once, read in tasks of equal size, exactly repeatable.

``ray.data.read_kafka`` has at most one task per partition, so that one large partition determines the job's duration.
Here each task gets a run of the manifest's blocks, cut into equal bytes across partitions; a retried task reads the
same offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kafkabal.clusters.kafka import OverfetchedBatches, RangeFetcher, RecordColumns, unpack_headers
from kafkabal.config import ConnectionSettings, named_connection
from kafkabal.errors import DriftError, MissingCapabilityError
from kafkabal.model import I64
from kafkabal.reader.block_loader import Fetcher
from kafkabal.reader.choose_manifest import manifest_of
from kafkabal.reader.manifest import BLOCK_BYTES, Manifest
from kafkabal.reader.reader_options import flag_of, text_of
from kafkabal.wording import counted_noun

if TYPE_CHECKING:  # an optional extra, which may not be installed
    import pyarrow as pa
    import ray.data

_LEAST_TASK_BYTES = 64 * 2**20
"""A Ray task costs tens of milliseconds; fetching 64 MiB takes some tenths of a second."""


@dataclass(frozen=True, slots=True)
class BlockRun:
    """Adjacent blocks of a partition, read in one go."""

    partition: int
    begin: int
    end: int
    samples: int
    size_bytes: int


def read_topic(
    topic: str,
    *,
    profile: str | None = None,
    bootstrap_servers: str | None = None,
    command_config: str | None = None,
    manifest: Manifest | str | Path | None = None,
    count: bool | None = None,
    rack: str | None = None,
    headers: bool = True,
    override_num_blocks: int | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """The committed records that a topic holds now; a file that was split has one row per piece.

    Columns: ``partition`` (int32), ``offset`` (int64), ``timestamp`` (ms), ``key`` and ``value`` (binary), ``headers``
    (a list of names and values in their order, duplicates included).

    Parameters
    ----------
    profile, bootstrap_servers, command_config
        As in :class:`~kafkabal.reader.TopicReader`; resolved here and passed to tasks on other machines.
    manifest
        A manifest or a file, which is written if it is missing; None pins the topic now.
    count
        As in :class:`~kafkabal.reader.TopicReader`.
    rack
        All tasks prefer in-sync replicas in this rack.
    headers
        False leaves this column out.
    override_num_blocks, options
        As in ``ray.data.read_datasource``: number of tasks, and resources of each.

    Raises
    ------
    MissingCapabilityError
        If Ray is not installed.
    KafkabalError
        As when creating a :class:`~kafkabal.reader.TopicReader`.
    """
    try:
        import ray.data
    except ImportError as error:
        raise MissingCapabilityError("Ray is not installed", hint="pip install 'kafkabal[ray]'") from error
    connection = named_connection(profile, bootstrap_servers, command_config)
    rack, count = text_of("rack", rack), None if count is None else flag_of("count", count)
    pinned = manifest_of(topic, connection, manifest, count=count, join=False, readers=1, ranks=1)
    source = _datasource(connection, pinned, rack, headers=headers)
    if override_num_blocks is None:
        # by default Ray asks for at least 200 tasks, and cuts the output of fewer tasks into that many objects in its
        # store, which takes longer than reading (docs/benchmarks/reader.md)
        override_num_blocks = len(block_runs(pinned, len(pinned.blocks.ranges)))
    dataset: ray.data.Dataset = ray.data.read_datasource(source, override_num_blocks=override_num_blocks, **options)
    return dataset


def block_runs(manifest: Manifest, tasks: int) -> list[list[BlockRun]]:
    """What each task reads: equal bytes to within one block, adjacent ones as one run; at most one task per range."""
    blocks = manifest.blocks.ranges
    total = int(blocks.size_bytes.sum())
    tasks = max(1, min(tasks, len(blocks), total // _LEAST_TASK_BYTES))
    middle = np.cumsum(blocks.size_bytes) - blocks.size_bytes / 2
    task = np.minimum((middle * tasks / max(total, 1)).astype(np.int64), tasks - 1)
    found: list[list[BlockRun]] = [[] for _ in range(tasks)]
    for at, number in enumerate(task.tolist()):
        block = BlockRun(
            int(blocks.partition[at]),
            int(blocks.begin[at]),
            int(blocks.end[at]),
            int(blocks.samples[at]),
            int(blocks.size_bytes[at]),
        )
        last = found[number][-1] if found[number] else None
        if last is not None and (last.partition, last.end) == (block.partition, block.begin):
            found[number][-1] = BlockRun(
                last.partition,
                last.begin,
                block.end,
                last.samples + block.samples,
                last.size_bytes + block.size_bytes,
            )
        else:
            found[number].append(block)
    return [each for each in found if each]


def read_block_runs(fetcher: Fetcher, topic: str, wanted: Sequence[BlockRun], *, headers: bool) -> Iterator[pa.Table]:
    """Yield the records of these runs as Arrow tables of about 8 MiB.

    Raises
    ------
    DriftError
        If a run holds another number of records than when it was pinned.
    RefusedByClusterError
        If a batch is damaged.
    """
    for run in wanted:
        steps = max(1, -(-run.size_bytes // BLOCK_BYTES))
        cuts = run.begin + np.arange(steps + 1, dtype=np.int64) * (run.end - run.begin) // steps
        got = 0
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            records = fetcher.fetch(run.partition, begin, end, run.size_bytes // steps).records
            records.refuse_damaged(topic)
            got += len(records)
            if records:
                yield as_table(records.columns(), headers=headers)
        if got != run.samples:
            raise DriftError(
                f"{topic}-{run.partition}: offsets {run.begin} to {run.end - 1} "
                f"hold {counted_noun(got, 'record')}, not {run.samples}",
                hint="the topic holds transactions or was compacted: read it with count=True",
            )


def as_table(records: RecordColumns, *, headers: bool) -> pa.Table:
    """Records as an Arrow table; see :func:`read_topic` for its columns."""
    import pyarrow as pa

    rows = np.arange(len(records))
    columns: dict[str, Any] = {
        "partition": pa.array(records.partition.astype(np.int32)),
        "offset": pa.array(records.offset),
        "timestamp": pa.array(records.timestamp),
        "key": _binary(records, records.key),
        "value": _binary(records, records.value),
    }
    if headers:
        kind = pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))
        packed = islice(records.packed_headers(rows), len(rows))
        unpacked = [[{"name": _text(name), "value": value} for name, value in unpack_headers(each)] for each in packed]
        columns["headers"] = pa.array(unpacked, kind)
    return pa.table(columns)


def _text(name: str) -> str:
    """A header name as Arrow accepts it: a client may have sent other bytes than UTF-8."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _binary(records: RecordColumns, field: I64) -> pa.LargeBinaryArray:
    """A field as an Arrow array; every byte is copied once, from the receive buffer."""
    import pyarrow as pa

    count = len(records)
    ends = np.concatenate(([0], np.cumsum(field[1] - field[0])))
    is_there = np.packbits(field[0] >= 0, bitorder="little")
    joined = b"".join(records.views(field, np.arange(count)))
    buffers = [pa.py_buffer(each) for each in (is_there, ends, joined)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers)


def _datasource(connection: ConnectionSettings, manifest: Manifest, rack: str | None, *, headers: bool) -> Any:
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    def task(wanted: list[BlockRun], row_limit: int | None) -> ReadTask:
        def read() -> Iterator[pa.Table]:
            kept = OverfetchedBatches(BLOCK_BYTES)  # a batch in which one step ends may begin the next
            fetcher = RangeFetcher(connection, manifest.topic, manifest.topic_id, rack=rack, kept=kept)
            try:
                yield from read_block_runs(fetcher, manifest.topic, wanted, headers=headers)
            finally:
                fetcher.close()

        metadata = BlockMetadata(
            num_rows=sum(run.samples for run in wanted),
            size_bytes=sum(run.size_bytes for run in wanted),
            input_files=None,
            exec_stats=None,
        )
        return ReadTask(read, metadata, per_task_row_limit=row_limit)

    class TopicDatasource(Datasource):  # type: ignore[misc] # untyped where Ray is not installed
        """The pinned topic, as Ray's data source."""

        def get_name(self) -> str:
            return f"Kafka topic {manifest.topic}"

        def estimate_inmemory_data_size(self) -> int:
            return manifest.size_bytes

        def get_read_tasks(
            self,
            parallelism: int,
            per_task_row_limit: int | None = None,
            data_context: Any = None,  # noqa: ARG002 - of Ray's protocol
        ) -> list[ReadTask]:
            return [task(wanted, per_task_row_limit) for wanted in block_runs(manifest, parallelism)]

    return TopicDatasource()
