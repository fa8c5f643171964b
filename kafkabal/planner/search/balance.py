"""The search for a placement, phase after phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.planner.search.choose import lift_for_racks, lift_for_topics, lift_leaving
from kafkabal.planner.search.deal import deal
from kafkabal.planner.search.improve import improve
from kafkabal.planner.search.push import push
from kafkabal.planner.search.settle import settle

if TYPE_CHECKING:
    from kafkabal.model.state import I64
    from kafkabal.planner.listener import PlanListener
    from kafkabal.planner.search.state import State

_MOST_REFINEMENTS = 4


def balance(state: State, listener: PlanListener) -> None:
    """Repair what breaks a rule, then bring the brokers inside their bands."""
    listener.step("repair")
    lift_leaving(state)
    lift_for_racks(state)
    lift_for_topics(state)
    _return_home(state, deal(state))
    listener.step("balance")
    state.refresh_bands()
    push(state)
    push(state, moved=True)
    push(state)
    for _ in range(_MOST_REFINEMENTS):
        state.refresh_bands()
        settle(state)
        listener.step("improve")
        improve(state)
        if not state.refresh_bands():
            return
    settle(state)


def _return_home(state: State, cells: I64) -> None:
    p, k = cells // state.width, cells % state.width
    home = state.problem.home[p, k]
    known = home >= 0
    state.put(p[known], k[known], home[known])
