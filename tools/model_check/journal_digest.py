"""What the next process would read from a journal, except the times of writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_EFFECTS = (b'{"record":"intended"', b'{"record":"confirmed"', b'{"record":"unanswered"')
"""Requests to the cluster: they are recorded for people, and no process depends on them."""
_ENTERED, _CLOSED = "entered", "closed"


class JournalDigest(NamedTuple):
    """The parts of a journal that have consequences."""

    content: str
    at: str
    """Time of the last write; empty before the run has started."""
    openings: int
    """How often the run had been reopened by then, according to the journal."""


def journal_digests(folder: Path) -> tuple[JournalDigest, ...]:
    """The digests of all hosts' journals, whose files are below a folder."""
    return tuple([read_digest(path, folder) for path in sorted(folder.rglob("*.jsonl"))])


def read_digest(path: Path, folder: Path, length: int | None = None) -> JournalDigest:
    """The digest of a journal, or of its beginning."""
    lines = path.read_bytes()[:length].splitlines()
    openings = 0
    latest: dict[str, Any] = {}
    all_of_them: set[str] = set()
    for line in lines:
        if line.startswith(_EFFECTS):
            continue
        record = msgspec.json.decode(line)
        record.pop("at", None)
        openings = record.pop("openings", openings)
        kind = record["record"]
        if kind in ("rate", "original", "planned"):
            all_of_them.add(f"{_ENTERED in latest}: {record}")
        else:
            latest[kind] = record
            if kind == _ENTERED and _CLOSED in latest:
                latest[_CLOSED]["is_former"] = True  # what was pending then is still known
    at = next((at for line in reversed(lines) if (at := msgspec.json.decode(line).get("at"))), "")
    content = repr((path.relative_to(folder), sorted(latest.items()), sorted(all_of_them)))
    return JournalDigest(content, at, openings)
