"""Finds the potentials at which the lower bound is highest: Shor's subgradient method with space dilation.

The bound is concave in the potentials but has a kink wherever a replica starts to be worth its move. Plain subgradients
zigzag across such kinks; the r-algorithm stretches space along the difference of two successive subgradients, so that
the next steps run along the kink::

    B = identity, or wider along the racks
    repeat
        d = B B'g / |B'g|                     g: gradient at x
        x = x + h d   while the bound rises along d; h grows with every third such step, shrinks where one is enough
        r = B'(new g - g), normalised
        B = B (I + (1/a - 1) r r')            a: dilation
    until the steps are used up, none of the last 80, or two a broker, was better than all before, or the best value is
    close to what a plan moves

Source: N. Z. Shor, Minimization Methods for Non-Differentiable Functions (Springer 1985), chapter 3; step rule of
P. I. Stetsyuk (ralgb5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64
from kafkabal.planner.relaxation import Relaxation

_FIRST_STEP = 0.05
"""In units of the multipliers; see the next constant for how the two were found."""
_DILATION = 3.0
"""Between 2 and 4 as Shor advises; with 3 and first steps of 0.05, 100 evaluations came within 0.1% of the linear
program on heavy clusters whose followers differ by 30%, where Polyak's steps stayed 1 to 2% below after 1,000."""
_LONGER, _SHORTER = 1.2, 0.95
_LONGER_AFTER = 3
"""Stetsyuk's values."""
_GIVE_UP_AFTER = 80
"""Evaluations without improvement: of 600 drawn clusters of 3 to 12 brokers whose copies agree in size, 400 evaluations
improve 18 bounds beyond the best corner, each for the first time after 18 to 73."""
_GIVE_UP_AFTER_A_BROKER = 2
"""Space has to be dilated along every potential first: of 100 brokers whose followers differ by 30%, planned at 2%,
no point is better than the best corner among the first 80."""
_RACK_STRETCH, _ENOUGH_TO_STRETCH = 10.0, 60
"""Where replicas choose racks, the potentials of a rack also have to move together, which steps along single kinks do
not find: 20 brokers in four racks whose followers differ by 30% stay 1% below the linear program after 1,500
evaluations, and are within 0.01% after 120 with a stretch of 10, 0.4% below with 20. Eighteen evaluations are too few
for it."""
_SHORTEST = 1e-7
"""In units of a potential, which is one byte moved per byte."""


class Ascent(NamedTuple):
    """The end point of an ascent."""

    potential: F64
    """shape (n_brokers,)."""
    value: float
    """Bytes, not rounded."""


def ascend(relaxation: Relaxation, most_evaluations: int, enough: float) -> Ascent:
    """Climb from the best corner.

    Parameters
    ----------
    most_evaluations
        Most evaluations of the bound, not counting corners.
    enough
        Value at which the search ends.
    """
    x, point = max(((c, relaxation.evaluate(c)) for c in relaxation.corners()), key=lambda found: found[1].value)
    best = Ascent(x, max(0.0, point.value))
    rows = np.flatnonzero(relaxation.variables)
    stretch, gradient, length = _stretch(relaxation, rows, most_evaluations), point.gradient[rows], _FIRST_STEP
    left, without_gain = most_evaluations, 0
    give_up_after = max(_GIVE_UP_AFTER, _GIVE_UP_AFTER_A_BROKER * len(rows))
    while left > 0 and without_gain < give_up_after and best.value < enough and length > _SHORTEST:
        along = _times(stretch.T, gradient)
        norm = _length(along)
        if norm <= 0:
            break
        direction = _times(stretch, along / norm)
        steps, rising = 0, True
        while rising and left > 0:
            x = x.copy()
            x[rows] += length * direction
            point = relaxation.evaluate(x)
            without_gain = 0 if point.value > best.value else without_gain + 1
            best = max(best, Ascent(x, point.value), key=lambda found: found.value)
            steps, left = steps + 1, left - 1
            length *= _LONGER if steps % _LONGER_AFTER == 0 else 1.0
            rising = bool((point.gradient[rows] * direction).sum() > 0)
        length *= _SHORTER if steps == 1 else 1.0
        stretch = _dilated(stretch, point.gradient[rows] - gradient)
        gradient = point.gradient[rows]
    return best


def _stretch(relaxation: Relaxation, rows: I64, most_evaluations: int) -> F64:
    """Where space is stretched at first: along the brokers of each rack if replicas can choose between racks."""
    if relaxation.reach is None or most_evaluations < _ENOUGH_TO_STRETCH:
        return np.eye(len(rows))
    rack = relaxation.problem.rack[rows]
    same = (rack[:, None] == rack).astype(np.float64)
    return np.asarray(np.eye(len(rows)) + _RACK_STRETCH * same / same.sum(1)[:, None])


def _dilated(stretch: F64, difference: F64) -> F64:
    across = _times(stretch.T, difference)
    norm = _length(across)
    if norm <= 0:
        return stretch
    across /= norm
    return np.asarray(stretch + (1 / _DILATION - 1) * np.outer(_times(stretch, across), across))


def _times(matrix: F64, vector: F64) -> F64:
    # BLAS sums a product in an order that depends on the machine, and plans follow from the result
    return np.asarray((matrix * vector).sum(1))


def _length(vector: F64) -> float:
    return math.sqrt(float((vector**2).sum()))
