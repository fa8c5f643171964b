"""Plots of ``route-simulate``: bytes of each broker, and latency, for every policy."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from kafkabal.atomic_files import replacing
from kafkabal.errors import UsageError
from kafkabal.printable import printable
from kafkabal.simulator import PolicyComparison

_FORMS = (".svg", ".png", ".html")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>route-simulate</title></head><body>
{picture}
</body></html>
"""


def check_plot(path: Path) -> None:
    """Check that a plot of that type can be written, before there is anything to draw.

    Raises
    ------
    UsageError
        If the file type is not supported, or matplotlib is not installed.
    """
    if path.suffix.lower() not in _FORMS:
        raise UsageError(f"unsupported plot format: {path.name}", hint=f"choose from: {', '.join(_FORMS)}")
    if find_spec("matplotlib") is None:
        raise UsageError("plots require matplotlib", hint="pip install 'kafkabal[plots]'")


def plot_simulation(simulated: PolicyComparison, path: Path) -> None:
    """Draw the outcome of every policy, after :func:`check_plot` has succeeded.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    ending = path.suffix.lower()
    picture = _draw(simulated, "png" if ending == ".png" else "svg")
    if ending == ".html":
        svg = picture.decode()
        picture = _PAGE.format(picture=svg[svg.index("<svg") :]).encode()
    with replacing(path) as file:
        file.write(picture)


def _draw(simulated: PolicyComparison, form: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    timed = simulated.has_latencies
    # a figure created without pyplot has no global state and needs no display
    with mpl.rc_context({"svg.hashsalt": "kafkabal", "svg.fonttype": "none"}):
        height = 1.5 + 0.45 * len(simulated.policies)
        figure = Figure(figsize=(11 if timed else 7, height), layout="constrained")
        axes: Any = figure.subplots(1, 2 if timed else 1, squeeze=False, sharey=True)[0]
        _draw_ratios(simulated, axes[0])
        if timed:
            _draw_latency(simulated, axes[1])
        drawn = BytesIO()
        figure.savefig(drawn, format=form, metadata={"Date": None} if form == "svg" else None)
    return drawn.getvalue()


def _draw_ratios(simulated: PolicyComparison, axes: Any) -> None:
    """A dot for each live broker and seed, at its share."""
    for row, runs in enumerate(simulated.policies):
        shares = np.concatenate([run.shares[run.live] for run in runs.runs])
        axes.plot(shares, [row] * len(shares), "o", alpha=0.6, color="tab:blue")
    axes.axvline(1.0, color="grey", linewidth=0.8)
    # names may hold dollar signs, between which matplotlib reads formulas
    labels = [printable(runs.label) for runs in simulated.policies]
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("disk usage of each broker relative to the mean")
    axes.set_title(printable(f"{simulated.workload.name} into {simulated.view.topic}"), parse_math=False)


def _draw_latency(simulated: PolicyComparison, axes: Any) -> None:
    """A line from the median to the 99.9th percentile, with the 99th marked, where delivery is simulated."""
    for row, runs in enumerate(simulated.policies):
        latencies = [run.latency for run in runs.runs if run.latency is not None]
        if not latencies:
            continue
        p50, p99, p999 = (
            1000 * sum(values) / len(values)
            for values in ([x.p50_s for x in latencies], [x.p99_s for x in latencies], [x.p999_s for x in latencies])
        )
        axes.plot([p50, p999], [row, row], color="tab:orange", linewidth=2)
        axes.plot([p50, p99], [row, row], "|", color="tab:red", markersize=12)
    axes.set_xscale("log")
    axes.set_xlabel("latency in ms: median, 99th, 99.9th percentile")
