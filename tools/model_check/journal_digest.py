"""What the next process would read in a journal, apart from when it was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_EFFECTS = (b'{"record":"intended"', b'{"record":"confirmed"', b'{"record":"unanswered"')
"""What was asked of the cluster: it is for people, nothing that a process does depends on it."""
_ENTERED, _CLOSED = "entered", "closed"


class JournalDigest(NamedTuple):
    """A journal, told from others by what follows from it."""

    content: str
    at: str
    """When it was last written to; empty before the run has begun."""
    openings: int
    """How often the run had been opened again by then, as far as it says."""


def journal_digests(folder: Path) -> tuple[JournalDigest, ...]:
    """Those of all hosts that keep their files below a folder."""
    return tuple([read_digest(path, folder) for path in sorted(folder.rglob("*.jsonl"))])


def read_digest(path: Path, folder: Path, length: int | None = None) -> JournalDigest:
    """That of a journal, or of its beginning."""
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
