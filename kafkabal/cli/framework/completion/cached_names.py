"""Topic names, broker ids and the cluster's id for shell completion: a small file per cluster.

Every command that reads a cluster refreshes its file, so that completion never waits for a cluster, and never offers
topics of another one.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kafkabal.atomic_files import replacing
from kafkabal.errors import InputFileError, OutputError
from kafkabal.input_files import DOCUMENT, absolute_path, decode_json, read_bytes
from kafkabal.json_decoders import json_decoder

if TYPE_CHECKING:
    from kafkabal.config import Settings
    from kafkabal.model import ClusterState

_FOLDER: Final = "completion"
# more candidates do not help, and slow the shell down
_MOST_NAMES: Final = 10_000
# keeps snapshots that are read only once from filling the folder
_MOST_CLUSTERS: Final = 100
_DIGITS: Final = 20
"""80 bits of the hash: two clusters never share a file, and the name stays short."""


class CachedNames(msgspec.Struct, frozen=True):
    """Names that can be completed for one cluster."""

    topics: tuple[str, ...] = ()
    """Without internal topics."""
    brokers: tuple[int, ...] = ()
    cluster_id: str = ""


def cache_names(state: ClusterState, settings: Settings, cache: Path) -> None:
    """Cache the names of the cluster for completion; write errors are ignored."""
    topics = [name for name, internal in zip(state.topics.name, state.topics.internal, strict=True) if not internal]
    names = CachedNames(tuple(topics[:_MOST_NAMES]), tuple(state.brokers.id[:_MOST_NAMES].tolist()), state.cluster_id)
    path = _path(settings, cache)
    with suppress(OSError, OutputError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_oldest(path.parent)
        with replacing(path) as file:
            file.write(msgspec.json.encode(names))


def cached_names(settings: Settings, cache: Path) -> CachedNames:
    """The last known names of the cluster in the settings; empty if it was never read."""
    path = _path(settings, cache)
    try:
        return decode_json(json_decoder(CachedNames), read_bytes(path, DOCUMENT), path, "not a list of names")
    except InputFileError:
        return CachedNames()


def _path(settings: Settings, cache: Path) -> Path:
    """One file per way of naming a cluster: completion cannot ask the cluster for its id."""
    named_files = (settings.snapshot, settings.command_config)
    files = [None if path is None else str(absolute_path(path)) for path in named_files]
    named_by = (*files, settings.zookeeper, sorted(settings.bootstrap_servers))
    return cache / _FOLDER / f"{sha256(repr(named_by).encode()).hexdigest()[:_DIGITS]}.json"


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in files[: 1 - _MOST_CLUSTERS]:
        path.unlink(missing_ok=True)
