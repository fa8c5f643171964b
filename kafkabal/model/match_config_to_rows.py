"""What a configuration states of brokers and their log dirs, brought to the rows of a cluster.

A broker that is named but not there is ignored: one that is down and holds nothing is not listed, and that is no
fault of the configuration. A log dir that is named must be there if its broker is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, TypeVar

from kafkabal.errors import ConfigError
from kafkabal.model.cluster_state import ClusterState

T = TypeVar("T")

Default: TypeAlias = Literal["default"]

_ANOTHER_CLUSTER = "if this profile is of another cluster, choose one with --profile"
"""The profile in use holds for a snapshot too, wherever that was taken."""


def stated_of_brokers(state: ClusterState, stated: Mapping[int | Default, T]) -> Iterator[tuple[int, T]]:
    """Row of each broker that is named, or else falls under ``default``, and what is stated of it."""
    for row, broker_id in enumerate(state.brokers.id.tolist()):
        if broker_id in stated:
            yield row, stated[broker_id]
        elif "default" in stated:
            yield row, stated["default"]


def stated_of_dirs(
    state: ClusterState, stated: Mapping[int | Default, Mapping[str, T]], what: str
) -> Iterator[tuple[int, T]]:
    """Row of each log dir that is named by its path, and what is stated of it.

    Raises
    ------
    ConfigError
        If a broker is named together with a log dir that it does not have, or ``default`` with one that no broker
        has; ``what`` names the setting.
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
