"""The picture in the README: one screen, small, and self-contained."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from kafkabal.plan import Plan, read_plan
from tools.draw_readme_picture import HEIGHT, WIDTH, Pictured, draw

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "demo.svg"
PLAN = ROOT / "tests" / "cli" / "snapshots" / "lopsided-plan.json"


def test_the_picture_fits_a_screen_and_loads_nothing() -> None:
    """A page shows it completely, at once, with the browser's fonts."""
    text = PICTURE.read_text()
    root = ET.fromstring(text)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert (width, height) == (WIDTH, HEIGHT)
    assert height / width < 0.5
    assert len(text) < 20_000
    assert not re.search(r"<script|@import|@font-face|url\(|href=", text)
    assert root.attrib["aria-label"]


def test_texts_stay_in_their_panels() -> None:
    """No line is wider than its panel in any monospaced font, whose characters are at most 0.62 em wide."""
    for panel in ET.fromstring(PICTURE.read_text()).findall("{*}g"):
        card = panel.find("{*}rect")
        assert card is not None
        for text in panel.findall("{*}text"):
            x, length = float(text.attrib["x"]), len(text.text or "") * 15 * 0.62
            begin = {"start": x, "end": x - length, "middle": x - length / 2}[text.attrib["text-anchor"]]
            assert begin >= 0, text.text
            assert begin + length <= float(card.attrib["width"]), text.text


def test_the_picture_shows_the_figures_of_the_plan() -> None:
    """Brokers outside their band are marked, and the largest moves are named."""
    plan: Plan = read_plan(PLAN)
    before = Pictured([1, 2], [300, 100], [1.5, 0.5], [True, True], 0.1)
    after = Pictured([1, 2], [200, 200], [1.0, 1.0], [False, False], 0.1)
    drawn = draw(before, plan, after)
    assert "broker 1: 1.50x its fair share" in drawn
    assert "all within 10% of the fair share" in drawn
    assert drawn.count('class="full"') == 1
    largest = max(plan.partitions, key=lambda change: change.bytes)
    assert f">{largest.name}<" in drawn
