"""Changes of the user's profiles file by several commands at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafkabal.config.edit_profiles import add_profile, use_profile
from kafkabal.config.profiles import profile_names, read_profiles
from kafkabal.errors import UsageError


def test_profiles_added_at_once_are_all_kept(tmp_path: Path) -> None:
    """Each command reads the file only once the one before has written it; no lock file is left."""
    file = tmp_path / "below" / "profiles.yaml"
    names = [f"p{i:02}" for i in range(16)]

    def add(name: str) -> None:
        add_profile(file, name, {"bootstrap_servers": f"{name}:9092"})
        use_profile(file, name)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(add, names))

    assert profile_names(file) == tuple(names)
    assert read_profiles(file).in_use in names
    assert [path.name for path in file.parent.iterdir()] == ["profiles.yaml"]


def test_a_refused_change_leaves_no_folder_and_no_lock(tmp_path: Path) -> None:
    """An unknown profile is refused before anything is written, also where nothing can be."""
    with pytest.raises(UsageError, match="unknown profile: 'prod'"):
        use_profile(tmp_path / "config" / "profiles.yaml", "prod")
    assert not any(tmp_path.iterdir())
