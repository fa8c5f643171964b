"""Which slow brokers could lose leadership: one that leads only what no other broker could lead is left alone."""

from __future__ import annotations

from collections.abc import Collection

from kafkabal.errors import KafkabalError
from kafkabal.model import ClusterState
from kafkabal.watch.decide_healing import Healing, demotion_of
from kafkabal.watch.heal_policy import HealPolicy
from kafkabal.watch.healing_ledger import HealingLedger
from kafkabal.watch.plan_healing import plan_of


class PossibleDemotions:
    """Answers for one state of the cluster; remembers them, since a plan takes seconds on a large cluster."""

    def __init__(self, policy: HealPolicy) -> None:
        self._policy = policy
        self._known: dict[Healing, bool] = {}

    def forget(self) -> None:
        """Forget the answers: the state has changed."""
        self._known.clear()

    def takes_leadership(
        self, broker: int, slow: Collection[int], ledger: HealingLedger, state: ClusterState | None
    ) -> bool:
        """Whether a demotion would take any leadership from a slow broker now; False if no state is known."""
        if state is None:
            return False
        demotion = demotion_of(broker, slow, ledger)
        if demotion not in self._known:
            self._known[demotion] = self._is_possible(demotion, ledger, state)
        return self._known[demotion]

    def _is_possible(self, demotion: Healing, ledger: HealingLedger, state: ClusterState) -> bool:
        try:
            return bool(plan_of(demotion, state, self._policy, ledger, at_s=0.0).partitions)
        except KafkabalError:
            return True  # the healing will report it
