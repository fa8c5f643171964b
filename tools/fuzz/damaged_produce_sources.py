"""Damaged sources of ``kafkabal produce``: an unreadable row must raise an error that names it, and nothing else."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from kafkabal.errors import KafkabalError
from kafkabal.sources import RecordsToSend, RowSource, Source
from tools.fuzz.damage import damaged
from tools.fuzz.run_case import fault_of

_ROWS: Final = tuple({"user": f"u{n}", "label": n % 3, "text": "x" * n} for n in range(40))


def _json_lines() -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in _ROWS)


def _text() -> bytes:
    return "\n".join(str(row["text"]) for row in _ROWS).encode()


def _csv() -> bytes:
    return b"user,label,text\n" + b"".join(b'u%d,%d,"a, ""b"" %d"\n' % (n, n % 3, n) for n in range(40))


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(_ROWS)), sink, row_group_size=10)
    return sink.getvalue()


def _arrow() -> bytes:
    import pyarrow as pa

    table = pa.Table.from_pylist(list(_ROWS))
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    return sink.getvalue()


def _tfrecord() -> bytes:
    from crc32c import crc32c

    def masked(data: bytes) -> bytes:
        checksum = crc32c(data)
        return struct.pack("<I", ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    payloads = [str(row["text"]).encode() for row in _ROWS]
    lengths = [struct.pack("<Q", len(payload)) for payload in payloads]
    return b"".join(n + masked(n) + p + masked(p) for n, p in zip(lengths, payloads, strict=True))


def _webdataset() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        for n in range(8):
            for suffix, data in (("cls", b"%d" % n), ("jpg", b"J" * 600), ("json", b"{}")):
                member = tarfile.TarInfo(f"a/{n}.{suffix}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return sink.getvalue()


_FORMATS: Final[Mapping[str, tuple[Callable[[], bytes], tuple[str | None, ...]]]] = {
    "rows.jsonl": (_json_lines, (None, "user", "label", "text")),
    "rows.txt": (_text, (None,)),
    "rows.csv": (_csv, (None, "user", "label", "text")),
    "rows.parquet": (_parquet, (None, "user", "label", "text")),
    "rows.arrow": (_arrow, (None, "user", "label", "text")),
    "rows.tfrecord": (_tfrecord, (None,)),
    "rows.tar": (_webdataset, (None, "__key__", "jpg", "json")),
}


def source_fault(seed: int, number: int) -> str:
    """What is wrong with how the damaged source of a number is read; empty if nothing is."""
    rng = Random(f"source:{seed}:{number}")
    name = rng.choice(tuple(_FORMATS))
    make, fields = _FORMATS[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(damaged(make(), rng))
        key, value, label = (rng.choice(fields) for _ in range(3))
        fault = fault_of(lambda: _read(RowSource(path, key_field=key, value_field=value, label_field=label)))
    return f"{name}, key {key}, value {value}, label {label}: {fault}" if fault else ""


def _read(source: Source) -> None:
    """Read everything that a producer reads from a source."""
    try:
        for part in source.listing().parts:
            list(source.find_too_large([part], 50, lambda: None))
            source.checksum(part)
            for block in source.blocks([RecordsToSend(0, 0, part, 0)]):
                assert len(block.values) == len(block), "a block of another length than its values"
    except KafkabalError as error:
        if not error.message.strip() or "\n" in error.message:
            raise AssertionError("not a message of one line") from error
