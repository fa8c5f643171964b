"""Formatted dirs equal what Kafka's own tool writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.sandbox.kraft_format import _CHECKPOINTS, BootstrapCheckpoint, checkpoint_in, format_dirs, new_kafka_uuid


def test_ids_are_written_as_kafka_writes_them() -> None:
    """Ids have 22 URL-safe characters and never begin with a dash, which tools would take for an option."""
    ids = {new_kafka_uuid() for _ in range(500)}
    assert len(ids) == 500
    assert all(len(text) == 22 and text.isascii() and not text.startswith("-") for text in ids)


@pytest.mark.parametrize("path", _CHECKPOINTS)
def test_every_dir_has_an_identity_of_its_own(path: str, tmp_path: Path) -> None:
    """The dirs of a node share cluster and node id, and each has an id of its own; the first has the checkpoint."""
    dirs = [tmp_path / "metadata", tmp_path / "d0"]
    format_dirs(dirs[0], dirs[1:], "cluster", 7, BootstrapCheckpoint(path, b"records"))
    described = [dict(line.split("=") for line in (d / "meta.properties").read_text().splitlines()) for d in dirs]
    assert all((meta["version"], meta["cluster.id"], meta["node.id"]) == ("1", "cluster", "7") for meta in described)
    assert described[0]["directory.id"] != described[1]["directory.id"]
    assert (dirs[0] / path).read_bytes() == b"records"
    assert checkpoint_in(dirs[0]) == (path, b"records")
    assert checkpoint_in(dirs[1]) is None
    assert [file.name for file in dirs[1].iterdir()] == ["meta.properties"]
