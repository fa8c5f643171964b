"""Future acknowledgements, earliest first: a binary heap in two columns."""

from __future__ import annotations

from kafkabal.routing import kernel
from kafkabal.simulator.delivery_state import TO_COME, DeliveryState


@kernel
def schedule_event(sim: DeliveryState, at_s: float, batch: int) -> None:
    """Add an acknowledgement to the agenda."""
    at = sim.counts[TO_COME]
    sim.counts[TO_COME] += 1
    while at > 0 and sim.agenda.at_s[(at - 1) // 2] > at_s:
        sim.agenda.at_s[at] = sim.agenda.at_s[(at - 1) // 2]
        sim.agenda.batch[at] = sim.agenda.batch[(at - 1) // 2]
        at = (at - 1) // 2
    sim.agenda.at_s[at] = at_s
    sim.agenda.batch[at] = batch


@kernel
def take_first(sim: DeliveryState) -> int:
    """Remove the earliest acknowledgement from the agenda."""
    first = sim.agenda.batch[0]
    sim.counts[TO_COME] -= 1
    n = sim.counts[TO_COME]
    at_s = sim.agenda.at_s[n]
    batch = sim.agenda.batch[n]
    at = 0
    child = 1
    while child < n:
        if child + 1 < n and sim.agenda.at_s[child + 1] < sim.agenda.at_s[child]:
            child += 1
        if sim.agenda.at_s[child] >= at_s:
            break
        sim.agenda.at_s[at] = sim.agenda.at_s[child]
        sim.agenda.batch[at] = sim.agenda.batch[child]
        at = child
        child = 2 * at + 1
    sim.agenda.at_s[at] = at_s
    sim.agenda.batch[at] = batch
    return first
