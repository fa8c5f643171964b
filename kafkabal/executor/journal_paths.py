"""Where the journals of a cluster's runs are; shell completion asks at every Tab, so that this imports little."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_PLAIN_ID = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)


def journal_folder(state_dir: Path, cluster_id: str) -> Path:
    """Folder for the journals of one cluster; named by a hash if the id could lead to another folder."""
    if _PLAIN_ID.fullmatch(cluster_id):
        return state_dir / cluster_id
    return state_dir / hashlib.sha256(cluster_id.encode(errors="surrogatepass")).hexdigest()


def rollback_plan_path(journal: Path) -> Path:
    """Where a run writes its rollback plan, unless it was given another place."""
    return journal.with_suffix(".rollback.json")
