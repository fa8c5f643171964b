"""Draws the picture of the README: ``python -m tools.draw_readme_picture SNAPSHOT docs/demo.svg``.

One screen: an unbalanced cluster, what a rebalance moves, and the cluster afterwards. Every figure comes from the
snapshot and from kafkabal's plan for it. The picture embeds no font, and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape

from kafkabal.cli.main import main as run
from kafkabal.clusters.snapshot import read_snapshot
from kafkabal.inspection import Inspection, broker_figures, inspect_cluster
from kafkabal.plan import Plan, read_plan
from kafkabal.units import format_bytes

WIDTH, HEIGHT = 1040, 370
_PANEL, _GAP, _TOP = 320, 24, 20
_LINE = 26
_BAR_LEFT, _BAR_WIDTH = 40, 176
_MOVES_SHOWN = 6
_STYLE = """
  .card { fill: #f6f8fa; stroke: #d0d7de; }
  text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328; }
  .command { font-weight: bold; }
  .faint { fill: #59636e; }
  .bad { fill: #b35900; }
  .good { fill: #116329; }
  .bar { fill: #4c8dd6; }
  .full { fill: #d9822b; }
  .fair { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #151b23; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .faint { fill: #9198a1; }
    .bad { fill: #f0a04b; }
    .good { fill: #56d364; }
    .bar { fill: #4c8dd6; }
    .fair { stroke: #f0f6fc; }
  }
  /* between the cards: legible on a light page even if the reader's scheme is dark, as on package indexes */
  .arrow { font-size: 24px; fill: #768390; }
"""


@dataclass(frozen=True, slots=True)
class Pictured:
    """The figures of a cluster to draw."""

    brokers: Sequence[int]
    used_bytes: Sequence[int]
    shares: Sequence[float]
    """Shares of the fair disk load."""
    is_outside: Sequence[bool]
    tolerance: float


def main() -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(prog="python -m tools.draw_readme_picture", description=__doc__)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        plan, after = Path(name) / "plan.json", Path(name) / "after.jsonl"
        on = ["--snapshot", str(options.snapshot), "-q"]
        run(["rebalance", "plan", *on, "--out", str(plan)])
        run(["rebalance", "apply", str(plan), *on, "--save", str(after), "--yes", "--throttle", "none"])
        pictures = [_pictured(inspect_cluster(read_snapshot(path))) for path in (options.snapshot, after)]
        options.picture.write_text(draw(pictures[0], read_plan(plan), pictures[1]))
    return 0


def _pictured(found: Inspection) -> Pictured:
    disk = next(scored for scored in found.scored if scored.score.name == "disk").evaluation
    return Pictured(
        brokers=found.state.brokers.id.tolist(),
        used_bytes=broker_figures(found.state).bytes.tolist(),
        shares=disk.share.tolist(),
        is_outside=disk.outside.tolist(),
        tolerance=found.tolerance,
    )


def draw(before: Pictured, plan: Plan, after: Pictured) -> str:
    """The picture as SVG."""
    scale = _BAR_WIDTH / max(before.used_bytes)
    panels = (_cluster(before, scale, "$ kafkabal inspect"), _moves(plan), _cluster(after, scale, "$ kafkabal inspect"))
    title = "An unbalanced Kafka cluster, the plan of a rebalance, and the balanced cluster"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * (_PANEL + _GAP) + 16}, {_TOP})">')
        parts.append(f'<rect class="card" width="{_PANEL}" height="{HEIGHT - 2 * _TOP}" rx="8"/>')
        parts += panel
        parts.append("</g>")
        if number < len(panels) - 1:
            x = (number + 1) * (_PANEL + _GAP) + 16 - _GAP / 2
            parts.append(f'<text class="arrow" x="{x}" y="{HEIGHT / 2}" text-anchor="middle">\u2192</text>')
    return "\n".join([*parts, "</svg>", ""])


def _cluster(cluster: Pictured, scale: float, command: str) -> Iterator[str]:
    yield _text(16, 1, command, "command")
    worst = max(range(len(cluster.brokers)), key=lambda row: cluster.shares[row])
    if any(cluster.is_outside):
        yield _text(16, 2, f"broker {cluster.brokers[worst]}: {cluster.shares[worst]:.2f}x its fair share", "bad")
    else:
        yield _text(16, 2, f"all within {cluster.tolerance:.0%} of the fair share", "good")
    yield _text(16, 3.2, "data on each broker", "faint")
    fair = sum(cluster.used_bytes) / len(cluster.used_bytes) * scale
    for row, broker in enumerate(cluster.brokers):
        line = 4.4 + row * 1.1
        y = _at(line) - 14
        kind = "full" if cluster.is_outside[row] and cluster.shares[row] > 1 else "bar"
        width = max(cluster.used_bytes[row] * scale, 1)
        yield _text(16, line, str(broker))
        yield f'<rect class="{kind}" x="{_BAR_LEFT}" y="{y:.1f}" width="{width:.1f}" height="18" rx="2"/>'
        yield _text(_PANEL - 16, line, format_bytes(cluster.used_bytes[row]), anchor="end")
    x, top = _BAR_LEFT + fair, _at(4.4) - 22
    bottom = _at(4.4 + (len(cluster.brokers) - 1) * 1.1) + 10
    yield f'<line class="fair" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
    yield f'<text class="faint" x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">fair share</text>'


def _moves(plan: Plan) -> Iterator[str]:
    yield _text(16, 1, "$ kafkabal rebalance", "command")
    least = format_bytes(plan.bound_bytes or 0)
    yield _text(16, 2, f"copies {format_bytes(plan.moved_bytes)}, minimum {least}")
    yield _text(16, 3.2, "partition", "faint")
    yield _text(124, 3.2, "brokers", "faint")
    yield _text(_PANEL - 16, 3.2, "bytes", "faint", anchor="end")
    moves = sorted(plan.partitions, key=lambda change: -change.bytes)
    for row, change in enumerate(moves[:_MOVES_SHOWN]):
        line = 4.4 + row
        old = ",".join(map(str, change.previous.replicas)) if change.previous else "?"
        yield _text(16, line, str(change.name))
        yield _text(124, line, f"{old} \u2192 {','.join(map(str, change.replicas))}")
        yield _text(_PANEL - 16, line, format_bytes(change.bytes), anchor="end")
    yield _text(16, 4.4 + _MOVES_SHOWN, f"and {len(moves) - _MOVES_SHOWN} more", "faint")
    yield _text(16, 5.9 + _MOVES_SHOWN, f"apply {len(moves)} changes? [y/N] y", "command")


def _at(line: float) -> float:
    return 6 + line * _LINE


def _text(x: float, line: float, text: str, kind: str = "", anchor: str = "start") -> str:
    attributes = f' class="{kind}"' if kind else ""
    return f'<text{attributes} x="{x}" y="{_at(line):.1f}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    sys.exit(main())
