"""Applies a profile's disk settings to the state that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.config.settings import Settings

if TYPE_CHECKING:  # needs numpy, which no command loads before it has connected
    from kafkabal.model import ClusterState


def with_profile_disks(state: ClusterState, settings: Settings) -> ClusterState:
    """The state with the volumes and capacities that the profile states.

    Raises
    ------
    ConfigError
        If the profile names a log dir that does not exist.
    """
    from kafkabal.model import with_capacity, with_volumes

    with settings.naming("volumes"):
        state = with_volumes(state, settings.volumes)
    with settings.naming("capacity"):
        return with_capacity(state, settings.capacity)
