"""What the next process would read from a journal, except the times of writing."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_EFFECTS = (b'{"record":"intended"', b'{"record":"confirmed"', b'{"record":"unanswered"')
"""Requests to the cluster: they are recorded for people, and no process depends on them."""
_ENTERED, _CLOSED = "entered", "closed"
_KNOWN = 1000
"""Journals remembered by their content: branches are replayed, and write the same again."""


class JournalDigest(NamedTuple):
    """The parts of a journal that have consequences."""

    content: str
    at: str
    """Time of the last write; empty before the run has started."""
    openings: int
    """How often the run had been reopened by then, according to the journal."""


def journals(folder: Path) -> list[Path]:
    """The journals of all hosts, whose files are below a folder: ``host/cluster/run.jsonl``."""
    return sorted(folder.glob("*/*/*.jsonl"))


def journal_digests(folder: Path) -> tuple[JournalDigest, ...]:
    """The digests of all hosts' journals."""
    return tuple([read_digest(path, folder) for path in journals(folder)])


def read_digest(path: Path, folder: Path, length: int | None = None) -> JournalDigest:
    """The digest of a journal, or of its beginning."""
    return _digest(path.relative_to(folder), path.read_bytes()[:length])


@lru_cache(maxsize=_KNOWN)
def rates_in_journal(content: bytes) -> frozenset[str]:
    """The throttle rates that a journal names."""
    records = [msgspec.json.decode(line) for line in content.splitlines() if not line.startswith(_EFFECTS)]
    return frozenset(str(record["value"]) for record in records if record["record"] == "rate")


@lru_cache(maxsize=_KNOWN)
def _digest(name: Path, content: bytes) -> JournalDigest:
    lines = content.splitlines()
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
    digest = repr((name, sorted(latest.items()), sorted(all_of_them)))
    return JournalDigest(digest, at, openings)
