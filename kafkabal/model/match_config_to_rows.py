"""Matches configured values of brokers and log dirs to the rows of a cluster.

A configured broker that does not exist is ignored: a dead broker without replicas is not listed, and the configuration
is not wrong for that. A configured log dir must exist if its broker does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, TypeVar

from kafkabal.errors import ConfigError
from kafkabal.model.cluster_state import ClusterState

T = TypeVar("T")

Default: TypeAlias = Literal["default"]

_ANOTHER_CLUSTER = "if this profile is of another cluster, choose one with --profile"
"""The profile in use applies to snapshots too, from whichever cluster."""


def stated_of_brokers(state: ClusterState, stated: Mapping[int | Default, T]) -> Iterator[tuple[int, T]]:
    """Row of each broker with a configured value, its own or the ``default``, and that value."""
    for row, broker_id in enumerate(state.brokers.id.tolist()):
        if broker_id in stated:
            yield row, stated[broker_id]
        elif "default" in stated:
            yield row, stated["default"]


def stated_of_dirs(
    state: ClusterState, stated: Mapping[int | Default, Mapping[str, T]], what: str
) -> Iterator[tuple[int, T]]:
    """Row of each log dir with a configured value, by path, and that value.

    Raises
    ------
    ConfigError
        If a broker is named with a log dir that it does not have, or ``default`` with one that no broker has; ``what``
        names the setting.
    """
    _check_default(state, stated.get("default", {}), what)
    for broker, by_path in stated_of_brokers(state, stated):
        first, end = int(state.log_dirs.first[broker]), int(state.log_dirs.first[broker + 1])
        rows = {state.log_dirs.path[row]: row for row in range(first, end)}
        broker_id = int(state.brokers.id[broker])
        for path, value in by_path.items():
            if path in rows:
                yield rows[path], value
            elif rows and broker_id in stated:
                raise ConfigError(f"{what}: broker {broker_id} has no log dir {path}", hint=_ANOTHER_CLUSTER)


def _check_default(state: ClusterState, by_path: Mapping[str, T], what: str) -> None:
    strangers = sorted(set(by_path) - set(state.log_dirs.path))
    if strangers:
        raise ConfigError(f"{what}: unknown log dir: {strangers[0]}", hint=_ANOTHER_CLUSTER)
