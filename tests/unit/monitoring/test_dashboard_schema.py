"""The dashboard against the types that Grafana itself is written in: nothing misspelt, nothing that it does not know.

Grafana publishes them as the npm package ``@grafana/schema``; the compiler of TypeScript checks the file by them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DASHBOARD = Path(__file__).parents[3] / "monitoring" / "kafkabal.json"
PACKAGES = Path(__file__).with_name("package.json")
"""Names them, with their versions."""
# in a file an enum is written as its value
CHECKED = """import type { Dashboard } from "@grafana/schema";
type Written<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: Written<T[K]> } : T;
export const dashboard: Written<Dashboard> = %s;
"""
COMPILER = ("--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "bundler", "--module", "esnext")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, 33 MB; skipped where they cannot be had."""
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("schema")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    shutil.copy(PACKAGES, folder)
    words = (npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock")
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=90, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("npm took too long")
    if done.returncode:
        pytest.skip(f"cannot install the packages of {PACKAGES.name}: {done.stderr.strip()[-200:]}")
    return folder


@pytest.fixture
def complaints(packages: Path) -> Callable[[dict[str, Any]], list[str]]:
    """What the compiler says about a dashboard."""

    def check(dashboard: dict[str, Any]) -> list[str]:
        (packages / "dashboard.ts").write_text(CHECKED % json.dumps(dashboard, indent=1))
        words = (packages / "node_modules" / ".bin" / "tsc", *COMPILER, "dashboard.ts")
        done = subprocess.run(words, cwd=packages, capture_output=True, text=True, check=False)
        assert not done.stderr
        assert bool(done.returncode) == bool(done.stdout)
        return done.stdout.splitlines()

    return check


def test_the_dashboard_has_the_types_of_grafana(complaints: Callable[[dict[str, Any]], list[str]]) -> None:
    """All panels, thresholds, units and variables are what Grafana 13 reads."""
    assert complaints(json.loads(DASHBOARD.read_text())) == []


def test_fields_unknown_to_grafana_are_found(complaints: Callable[[dict[str, Any]], list[str]]) -> None:
    """Three slips, three complaints: a key, a word of a panel, a word of a variable."""
    dashboard = json.loads(DASHBOARD.read_text())
    dashboard["panels"][0]["gridpos"] = dashboard["panels"][0].pop("gridPos")
    dashboard["panels"][1]["fieldConfig"]["defaults"]["thresholds"]["mode"] = "absolut"
    dashboard["templating"]["list"][0]["type"] = "dataource"

    found = complaints(dashboard)

    assert len(found) == 3
    assert all(any(word in line for line in found) for word in ("gridpos", "absolut", "dataource"))
