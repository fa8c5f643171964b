"""Reports as pages: whole, self-contained, and safe against names of others."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.reporting.inspection.share_charts import inspection_charts
from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Column, Fact, HeatMap, LineChart, Report, ShareChart, Table, Tone, ValueKind
from kafkabal.scoring import Grain, select_scores
from kafkabal.testing.cluster_builders import brokers, cluster, topic

HOSTILE = '<script>alert(1)</script>"\x1b[31m'

REPORT = Report(
    command="inspect",
    headline=HOSTILE,
    tone=Tone.WARNING,
    facts=(Fact(key="a", value=HOSTILE, title="fact"),),
    tables=(
        Table(
            key="t",
            title=HOSTILE,
            columns=(
                Column(key="n", title=HOSTILE, values=[HOSTILE, "b"]),
                Column(key="s", title="share", kind=ValueKind.FAIR, values=[1.5, None], outside=[1, 0]),
                Column(key="bar", title=" ", kind=ValueKind.FAIR_BAR, values=[1.5, None]),
            ),
        ),
        Table(key="p", columns=(Column(key="n", title="programs only", values=[1]),), for_programs=True),
    ),
    notes=(HOSTILE,),
    charts=lambda: (
        ShareChart(
            title=HOSTILE,
            labels=[HOSTILE, "b"],
            shares=[1.5, None],
            before=[2.0, 0.5],
            low=[0.9, None],
            high=[1.1, None],
        ),
        LineChart(
            title=HOSTILE,
            note=HOSTILE,
            past=[(0.0, 1.0), (100.0, 2.0)],
            future=[(100.0, 2.0, 2.0, 2.0), (200.0, 4.0, 3.0, 5.0)],
            limit=3.0,
        ),
        LineChart(title="empty", note="", past=[(0.0, 0.0)], future=[(0.0, 0.0, 0.0, 0.0)], limit=None),
        HeatMap(title="heat", row_labels=[HOSTILE], column_labels=["1", "2"], shares=[[0.25, None]]),
    ),
)


class Page(HTMLParser):
    """Tags and text of a page; every tag that is opened has to be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open a tag."""
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text between tags."""
        self.text += data


@pytest.fixture
def page() -> Page:
    """The page of a report whose every text is hostile."""
    return Page(render(REPORT, "html", PLAIN))


def test_names_cannot_become_markup(page: Page) -> None:
    """Texts of others are shown, in tables, charts and notes, and never run; control characters are escaped."""
    assert page.open == []
    assert "script" not in page.tags
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert "\x1b" not in page.text


def test_a_page_loads_no_external_resources() -> None:
    """No address of another file or server stands in it."""
    text = render(REPORT, "html", PLAIN)
    assert not re.search(r"\b(?:src|href)=|url\(|@import|https?:", text)


def test_charts_show_the_known_values(page: Page) -> None:
    """Shares before and after, and heat by distance from the fair share; what is not known is left empty."""
    assert "2.00x →" in page.text
    assert "0.25" in page.text
    assert "programs only" not in page.text
    assert "1.50x ▲" in page.text


def test_a_report_without_charts_is_a_page() -> None:
    """The least report has a heading."""
    assert "kafkabal scores" in Page(render(Report(command="scores"), "html", PLAIN)).text


def test_holders_are_marked_as_they_are_judged() -> None:
    """As many shares stand out as the score counts outside, also where a bar has no length or ends at an edge."""
    rows = [[1, 2], [1, 2], [1, 3], [1, 3], [1, 2], [1, 3]]
    state = cluster(brokers(4), [topic("t", *rows)])
    inspection = inspect_cluster(state, select_scores(state))
    charts = {chart.title: chart for chart in inspection_charts(inspection) if isinstance(chart, ShareChart)}
    assert charts
    for scored in inspection.of_grain(Grain.BROKER):
        chart = charts[f"{scored.score.name} by broker"]
        text = render(Report(command="inspect", charts=lambda c=chart: (c,)), "html", PLAIN)  # type: ignore[misc]
        assert text.count('class="number outside"') == scored.evaluation.outside.sum()
    assert sum(scored.evaluation.outside.sum() for scored in inspection.scored)
