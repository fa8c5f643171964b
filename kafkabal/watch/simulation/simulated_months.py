"""Simulates a watch: the same loop that runs on a real cluster, on a clock that jumps.

::

    every step           sizes change (growth, noise, retention)
    at their times       brokers fail, come back, join
    observations         one after every change; more, a few seconds apart and then minutes, as long as a broker is not
                         well, something has just changed or is being healed: nothing happens between two others
    a healing            a run of the executor on the simulated cluster, under its throttle, while observations continue

An observation that would show the same as the previous one is left out, and one that would show only other response
times takes the state from the previous one; nothing else differs from real time.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kafkabal.clusters import Reading, ReadRequest
from kafkabal.clusters.simulated import InMemoryCluster, SimulatedKafka
from kafkabal.executor import FoundRun, RunEnvironment, Timeouts
from kafkabal.model import ClusterState
from kafkabal.plan import PartitionChange, Plan
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import Healing
from kafkabal.watch.heal import HealResult, RunHealer
from kafkabal.watch.simulation.hindsight_plans import plans_in_hindsight
from kafkabal.watch.simulation.resting_excess import exceeds_by_resting
from kafkabal.watch.simulation.scripted_failures import faults_of, last_change_s
from kafkabal.watch.simulation.simulated_scene import SimulatedScene
from kafkabal.watch.simulation.simulation_case import BrokerFault, SimulationCase
from kafkabal.watch.simulation.simulation_result import SimulatedHealing, SimulationResult
from kafkabal.watch.simulation.time_in_band import TimeInBand
from kafkabal.watch.state_findings import find
from kafkabal.watch.watch_events import WatchEvent
from kafkabal.watch.watch_options import WatchOptions
from kafkabal.watch.watcher import Watcher

_RESPONSE_NOISE = 0.3
"""Fraction of the response times, drawn for every observation."""
_PAUSES_S = ((60.0, 5.0), (360.0, 30.0), (2400.0, 300.0))
"""Pairs of time since a change and pause between observations until then: the first pauses notice a death, the next
give ten readings in a row, the last cover --dead-after and the ten minutes after which a broker is well again."""
_UNWELL_PAUSE_S = 600.0
"""Pause while a broker is not well, or a healing is in progress or held back."""
_RUN_POLL_S = 60.0
"""Copies take hours: polls every second would be a million a month, and show the same."""
_SETTLED_S = 2 * DAY_S
"""By two days after the last failure or new broker a watch has had its daily budget twice: later moves undo others."""


def simulate(state: ClusterState, case: SimulationCase, days: float, folder: Path) -> SimulationResult:
    """Simulate a watch, and what plans made in hindsight would have moved.

    Parameters
    ----------
    state
        The initial state of the cluster.
    case
        Checked with :meth:`SimulationCase.check_brokers`.
    folder
        For the journals of the runs and the ledger; must be empty.
    """
    faults = faults_of(case, state.brokers.id[state.brokers.is_live].tolist(), days * DAY_S)
    result = _SimulatedWatch(state, case, faults, folder).play(days)
    return replace(result, hindsight_bytes=plans_in_hindsight(state, case, faults, days).moved_bytes)


class _SimulatedWatch:
    """A watch, its cluster, and the results."""

    def __init__(
        self, state: ClusterState, case: SimulationCase, faults: tuple[BrokerFault, ...], folder: Path
    ) -> None:
        self._scene = SimulatedScene(state, case, faults, self._on_change)
        self._clock = self._scene.clock
        self._case, self._quiet_from_s = case, last_change_s(case, faults) + _SETTLED_S
        self._is_balanced_when_quiet = False
        self._clock.at(self._quiet_from_s, self._note_balance)
        self._noise = np.random.default_rng((case.seed, 2))
        self._events: list[WatchEvent] = []
        self._healer = _NotingHealer(self._scene, folder, case)
        options = WatchOptions(policy=case.policy)
        self._cluster = _ClusterReadOnChange(self._scene.kafka, self._healer)
        self._watcher = Watcher(self._cluster, options, self._clock, self, self._healer, folder / "watch.json")
        self._observations = 0
        self._changed_at_s = 0.0
        self._next_observation = 0
        self._time_in_band = TimeInBand()

    def play(self, days: float) -> SimulationResult:
        self._observe_in(0.0)
        self._clock.sleep(days * DAY_S - self._clock.monotonic())
        self._measure()
        return SimulationResult(
            days=days,
            observations=self._observations,
            events=tuple(self._events),
            healings=tuple(self._healer.healings),
            in_band_fraction=self._time_in_band.fraction,
            steady_state_actions=self._steady_state_actions(),
        )

    def _note_balance(self) -> None:
        found = find(self._scene.cluster.read(ReadRequest()).state, self._case.policy.inner_tolerance)
        self._is_balanced_when_quiet = not found.imbalanced

    def _steady_state_actions(self) -> int:
        """Actions that noise alone has caused on a balanced cluster.

        One that settles between the two bands is not balanced yet: noise may carry it beyond the outer one, once.
        """
        if self._case.growth.per_day:
            return 0
        healings = self._healer.healings
        actions = sum(h.at_s >= self._quiet_from_s for h in healings)
        return actions if self._is_balanced_when_quiet else max(actions - 1, 0)

    def on_event(self, event: WatchEvent) -> None:
        """Keep the event; a change is worth closer observation."""
        self._events.append(event)
        self._changed_at_s = self._clock.monotonic()

    def _on_change(self, is_sudden: bool) -> None:
        self._cluster.changes += 1
        if is_sudden:
            self._changed_at_s = self._clock.monotonic()
        self._observe_in(0.0)

    def _observe_in(self, seconds: float) -> None:
        """Make the next observation after this time, instead of at the end of the interval."""
        self._next_observation += 1
        number = self._next_observation
        self._clock.at(self._clock.monotonic() + seconds, lambda: self._observe(number))

    def _observe(self, number: int) -> None:
        if number != self._next_observation:
            return  # another observation has replaced this one
        # a healing takes place within the observation: schedule the next one first, so that observations continue
        # meanwhile
        if (pause_s := self._pause_s()) is not None:
            self._observe_in(pause_s)
        for broker in self._scene.kafka.parts.brokers.values():
            noise = 1 + _RESPONSE_NOISE * float(self._noise.uniform(-1, 1))
            broker.response_s = self._scene.response_s(broker.id) * noise
        self._observations += 1
        before = self._changed_at_s
        self._watcher.observe()
        self._measure()
        if self._changed_at_s != before and self._healer.healing is None:
            self._observe_in(_PAUSES_S[0][1])
        elif pause_s is None and self._watcher.is_waiting:
            # until its back-off ends, which no other change would show
            self._observe_in(_UNWELL_PAUSE_S)

    def _pause_s(self) -> float | None:
        """Pause until the next observation; None if none is needed before something changes."""
        since_s = self._clock.monotonic() - self._changed_at_s
        for until_s, pause_s in _PAUSES_S:
            if since_s < until_s:
                return pause_s
        is_quiet = not (self._scene.missing or self._scene.slow or self._healer.healing or self._watcher.is_waiting)
        return None if is_quiet else _UNWELL_PAUSE_S

    def _measure(self) -> None:
        """Count the time since the last observation by what that one found."""
        is_in_band = not self._watcher.summary().findings.imbalanced
        is_well = not (self._scene.missing or self._scene.slow or self._watcher.demoted)
        is_counted = is_well and (is_in_band or not self._must_rest_outside())
        self._time_in_band.find(self._clock.monotonic(), is_counted=is_counted, is_in_band=is_in_band)

    def _must_rest_outside(self) -> bool:
        """Whether replicas that may not move again within the day put a broker outside the outer band by themselves."""
        day_began_s = self._clock.monotonic() - DAY_S
        plans = [h.plan for h in self._healer.healings if h.plan is not None and h.ended_at_s > day_began_s]
        state = self._cluster.read(ReadRequest()).state
        return exceeds_by_resting(state, plans, self._case.policy.outer_tolerance)


class _NotingHealer(RunHealer):
    """Heals at once, and records what it did."""

    def __init__(self, scene: SimulatedScene, folder: Path, case: SimulationCase) -> None:
        super().__init__(
            lambda stop: RunEnvironment(
                cluster=scene.cluster, state_dir=folder / "runs", clock=scene.clock, stop=stop, host="simulated"
            ),
            case.throttle,
            timeouts=Timeouts(poll_s=_RUN_POLL_S),
            in_background=False,
        )
        self._scene, self._clock = scene, scene.clock
        self._begun: tuple[float, Healing, Plan | None, frozenset[int]] | None = None
        self.healings: list[SimulatedHealing] = []

    def begin(self, healing: Healing, plan: Plan) -> None:
        self._begun = (self._clock.monotonic(), healing, plan, frozenset(self._scene.missing))
        super().begin(healing, plan)

    def begin_resume(self, healing: Healing, found: FoundRun, *, is_cancelled: bool = False) -> None:
        self._begun = (self._clock.monotonic(), healing, None, frozenset(self._scene.missing))
        super().begin_resume(healing, found, is_cancelled=is_cancelled)

    def poll(self) -> HealResult | None:
        result = super().poll()
        if result is not None and self._begun is not None:
            at_s, healing, plan, dead = self._begun
            self.healings.append(
                SimulatedHealing(
                    at_s=at_s,
                    ended_at_s=self._clock.monotonic(),
                    kind=healing.kind,
                    reason=healing.reason,
                    moved_bytes=result.moved_bytes,
                    plan=plan,
                    dead=dead,
                    widened=frozenset(c.name for c in plan.partitions if self._widens(c)) if plan else frozenset(),
                    outcome="stopped" if result.was_stopped else result.problem or "done",
                )
            )
        return result

    def _widens(self, change: PartitionChange) -> bool:
        """Whether a change spreads a partition over more racks."""
        if change.previous is None:
            return False
        brokers = self._scene.kafka.parts.brokers
        before, after = ({brokers[b].rack for b in of} for of in (change.previous.replicas, change.replicas))
        return len(after) > len(before)


class _ClusterReadOnChange(InMemoryCluster):
    """Reads the state only if it may have changed since the last reading; otherwise returns that one.

    Most readings of a simulated month show the same as the one before, and evaluating them takes most of its time.
    """

    def __init__(self, kafka: SimulatedKafka, healer: _NotingHealer) -> None:
        super().__init__(kafka)
        self.changes = 0
        """Number of changes by the case so far."""
        self._healer = healer
        self._last: tuple[tuple[ReadRequest, int, int], Reading] | None = None

    def read(self, request: ReadRequest) -> Reading:
        parts = self.kafka.parts
        if self._healer.healing is not None or parts.moving or parts.copying:
            return super().read(request)
        at = request, self.changes, len(self._healer.healings)
        if self._last is None or self._last[0] != at:
            self._last = at, super().read(request)
        return self._last[1]
