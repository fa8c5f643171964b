"""Writes the results of experiments as Markdown, with figures in SVG and the numbers in JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one experiment."""

    key: str
    title: str
    setting: str
    """The setup, in one paragraph."""
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdicts: Sequence[tuple[str, bool]]
    """Each goal, and whether it was reached."""
    bars: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Values of the bars by group, in the order of ``bar_labels``."""
    bar_labels: Sequence[str] = ()
    bar_axis: str = ""
    data: Any = None


def write_report(findings: Sequence[Finding], folder: Path) -> None:
    """Write ``report.md``, a figure for each experiment with bars, and ``data.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = ["# Experiments", ""]
    for finding in findings:
        text += [f"## {finding.title}", "", *_section(finding, folder), ""]
    (folder / "report.md").write_text("\n".join(text))
    (folder / "data.json").write_text(json.dumps({f.key: f.data for f in findings}, indent=1))


def write_into_page(findings: Sequence[Finding], page: Path) -> None:
    """Replace the sections of a page between their markers, and write the figures to the folder named after the
    page."""
    text = page.read_text()
    for finding in findings:
        begin, end = f"<!-- {finding.key}: written by the run -->\n", f"\n<!-- end of {finding.key} -->"
        before, _, rest = text.partition(begin)
        _, mark, after = rest.partition(end)
        assert mark, f"{page} has no marks for {finding.key}"
        section = "\n".join(_section(finding, page.with_suffix(""), f"{page.stem}/"))
        text = f"{before}{begin}\n{section}\n{end}{after}"
    page.write_text(text)


def _section(finding: Finding, folder: Path, link: str = "") -> list[str]:
    """The lines of a section; writes its figure to the folder."""
    text = [finding.setting, ""]
    if finding.bars:
        _draw(finding, folder / f"{finding.key}.svg")
        text += [f"![{finding.title}]({link}{finding.key}.svg)", ""]
    text += [_row(finding.columns), _row(["---"] * len(finding.columns)), *map(_row, finding.rows), ""]
    return text + [f"* {'reached' if reached else '**not reached**'}: {what}" for what, reached in finding.verdicts]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _draw(finding: Finding, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 0.45 * len(finding.bars) + 1.2))
    axes = figure.subplots()
    groups = list(finding.bars)
    height = 0.8 / max(1, len(finding.bar_labels))
    for i, label in enumerate(finding.bar_labels):
        values = [finding.bars[group][i] for group in groups]
        axes.barh([row + i * height for row in range(len(groups))], values, height, label=label)
    axes.set_yticks([row + 0.4 - height / 2 for row in range(len(groups))], groups)
    axes.invert_yaxis()
    axes.set_xlabel(finding.bar_axis)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.savefig(path, bbox_inches="tight")
