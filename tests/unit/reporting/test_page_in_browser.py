"""Pages as Chromium lays them out: marks stand where they mean to, and paper cuts nothing off."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Column, Report, ShareChart, Table, ValueKind

SHARES = [2.6, 1.0, 0.5]
PAPER = 700
"""CSS pixels between the margins of a portrait A4 page."""
NUMBERS = [123_456_789_012] * len(SHARES)
REPORT = Report(
    command="inspect",
    tables=(
        Table(
            key="t",
            columns=(
                Column(key="n", title="broker", values=[1, 2, 3], label=True),
                Column(key="bar", title=" ", kind=ValueKind.FAIR_BAR, values=SHARES),
                *(Column(key=f"c{i}", title=f"replicas out of sync {i}", values=NUMBERS) for i in range(6)),
            ),
        ),
    ),
    charts=lambda: (ShareChart(title="disk", labels=["1", "2", "3"], shares=SHARES, low=[0.9] * 3, high=[1.1] * 3),),
)
MEASURE = """<script>
const boxes = s => [...document.querySelectorAll(s)].map(e => e.getBoundingClientRect());
const edges = s => boxes(s).map(box => [box.left, box.right]);
document.body.innerHTML = '<pre id="found">' + JSON.stringify({
  bars: edges('td.bar i'), marks: edges('td.bar b'), chart_bars: edges('.track i'), chart_marks: edges('.track b'),
  cells: edges('td'), page: document.documentElement.clientWidth }) + '</pre>';
</script>"""


@pytest.fixture
def laid_out(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Where the parts of a page are, measured in the browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is not installed")

    def measure(page: str, width: int, *flags: str) -> dict[str, Any]:
        (tmp_path / "page.html").write_text(page.replace("</body>", f"{MEASURE}</body>"))
        words = (browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}")
        done = subprocess.run(
            (*words, f"--window-size={width},900", *flags, "--dump-dom", f"file://{tmp_path / 'page.html'}"),
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout)
        assert found, done.stderr
        measured: dict[str, Any] = json.loads(unescape(found[1]))
        return measured

    return measure


def test_the_fair_mark_is_at_the_end_of_a_fair_bar(laid_out: Callable[..., dict[str, Any]]) -> None:
    """In tables and in charts: a bar of 1.00x reaches it, one of more passes it, one of less does not."""
    found = laid_out(render(REPORT, "html", PLAIN), 1200)
    for bars, marks in ((found["bars"], found["marks"]), (found["chart_bars"], found["chart_marks"])):
        (over, _), (fair, mark), (under, _) = ((bar[1], m[0]) for bar, m in zip(bars, marks, strict=True))
        assert fair == pytest.approx(mark, abs=1.0)
        assert under < mark < over


def test_paper_shows_all_columns_of_a_wide_table(laid_out: Callable[..., dict[str, Any]]) -> None:
    """It cannot be scrolled: as printed, every cell is within the page."""
    printed = render(REPORT, "html", PLAIN).replace("@media print", "@media all")
    found = laid_out(printed, PAPER)
    assert max(right for _, right in found["cells"]) <= found["page"]
