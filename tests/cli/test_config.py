"""``kafkabal config show``: effective settings and their sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_every_setting_is_shown_with_its_origin(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Flags override the environment, which overrides the profile; each source is named."""
    profile = tmp_path / "p.yaml"
    profile.write_text("tolerance: 5%\ntopics: [a, b]\nthrottle: auto\ncapacity: {default: 1kB, 3: {/d0: 5}}\n")
    shown = run_cli(
        *("config", "show", "--profile", str(profile), "--throttle", "1kB", "-o", "json"),
        environ={"KAFKABAL_TOPICS": "c"},
    )
    assert shown.code == 0, shown.err
    assert {row["setting"]: (row["value"], row["origin"]) for row in json.loads(shown.out)["settings"]} == {
        "tolerance": ("0.05", f"{profile}, line 1"),
        "capacity": ("default: 1000, 3: /d0: 5", f"{profile}, line 4"),
        "throttle": ("1000", "--throttle"),
        "topics": ("c", "KAFKABAL_TOPICS"),
    }


def test_no_settings_print_an_empty_list(run_cli: Callable[..., Any]) -> None:
    """Having no profile is not an error."""
    shown = run_cli("config", "show", "-o", "json")
    assert (shown.code, json.loads(shown.out)["settings"]) == (0, [])


def test_people_see_values_with_their_units(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Sizes, rates and times are shown with their units, a throttle of 50000000 as 50 MB/s."""
    profile = tmp_path / "p.yaml"
    profile.write_text("tolerance: 5%\nthrottle: 50MB/s\nmax_bytes: 4TiB\ndead_after: 90m\ncapacity: {3: {/d0: 1kB}}\n")
    shown = run_cli("config", "show", "--profile", str(profile), environ={"COLUMNS": "200"}).out
    for text in (
        "tolerance   5%  ",
        "throttle    50 MB/s  ",
        "max_bytes   4.00 TiB  ",
        "dead_after  90m  ",
        "/d0: 1 kB  ",
    ):
        assert text in shown
    assert "  5%  " not in run_cli("config", "show", "--profile", str(profile), "-o", "csv").out
