"""Where the manifest of a topic and a source is kept."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.errors import UsageError
from kafkabal.producer.manifest_path import default_manifest_path
from kafkabal.producer.send_manifest import ManifestHeader, SendManifest
from kafkabal.sources.row_source import RowSource


def test_other_options_have_a_manifest_of_their_own(tmp_path: Path) -> None:
    """Each way to split a source has its own manifest; without options its path is the same as in old versions."""
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    facts: Any = SimpleNamespace(topic="t", topic_id="T")
    plain = default_manifest_path(facts, RowSource(tmp_path / "a.jsonl"), tmp_path)
    by_value = default_manifest_path(facts, RowSource(tmp_path / "a.jsonl", value_field="v"), tmp_path)
    by_key = default_manifest_path(facts, RowSource(tmp_path / "a.jsonl", key_field="v"), tmp_path)
    digest = sha256(f"file {tmp_path / 'a.jsonl'}".encode()).hexdigest()[:16]
    assert plain == tmp_path / f"t-T-{digest}.jsonl"
    assert len({plain, by_value, by_key}) == 3


def test_a_manifest_that_may_be_of_other_options_is_not_guessed_at(tmp_path: Path) -> None:
    """A manifest that predates stored options is used without options, and must be named if options are given."""
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    facts: Any = SimpleNamespace(topic="t", topic_id="T")
    plain = default_manifest_path(facts, RowSource(tmp_path / "a.jsonl"), tmp_path)
    header = ManifestHeader(id="1", cluster_id="c", topic="t", topic_id="T", source="file", offsets={})
    SendManifest.open(plain, header).close()
    assert default_manifest_path(facts, RowSource(tmp_path / "a.jsonl"), tmp_path) == plain
    with pytest.raises(
        UsageError, match=r"manifest of an older version does not record its options \(given --key k --value v\)"
    ):
        default_manifest_path(facts, RowSource(tmp_path / "a.jsonl", key_field="k", value_field="v"), tmp_path)
