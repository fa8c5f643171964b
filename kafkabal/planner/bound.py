"""A proved lower bound on the bytes that any plan with the same bands and rules must move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.planner.bands import excess

if TYPE_CHECKING:
    from kafkabal.planner.search.state import State


def bound_bytes(state: State) -> int:
    """The larger of what must leave and what must enter; see ``docs/planner.md`` for the proof."""
    problem, bands = state.problem, state.bands
    above, below = excess(state.used, bands.low_bytes, bands.high_bytes, problem.weighed)
    must_leave = problem.leaves[state.place] & (state.place >= 0) & problem.movable[:, None]
    forced = int(np.broadcast_to(problem.arriving_bytes[:, None], must_leave.shape)[must_leave].sum())
    return max(int(above.sum()) + forced, int(below.sum()))
