"""Files of a store that lists a folder at a time."""

from __future__ import annotations

from typing import Any

from kafkabal.sources.store_listing import walked_entries


def test_folders_without_end_are_left_at_a_depth() -> None:
    """A server that answers every path with the same page, or a link that leads back, does not keep a run busy."""
    left_out: list[tuple[str, str]] = []

    def entries_of(folder: str) -> list[tuple[str, dict[str, Any]]]:
        return [(f"{folder}again", {"type": "directory"}), (f"{folder}a.jpg", {"type": "file"})]

    found = [name for name, _ in walked_entries(entries_of, lambda *each: left_out.append(each))]
    assert found[:3] == ["a.jpg", "again/a.jpg", "again/again/a.jpg"]
    assert len(found) == 65
    assert left_out == [("again/" * 65, "is more than 64 folders deep")]


def test_what_is_no_file_is_named() -> None:
    """Such as a link in a store that does not follow it."""
    left_out: list[tuple[str, str]] = []
    entries = [("link", {"type": "other"}), ("a", {"type": "file"})]
    assert [name for name, _ in walked_entries(lambda _: entries, lambda *each: left_out.append(each))] == ["a"]
    assert left_out == [("link", "is not a regular file")]
