"""Since when brokers have been dead: recorded on this host by every command that reads the cluster, and on the cluster.

Kafka does not say when a broker died. A broker that is restarting comes back within minutes, and copying its replicas
away meanwhile would be useless; so a repair waits until a broker has been seen dead for a while. A command that sees
the broker registered again restarts the count.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from kafkabal.atomic_files import make_folder_of, replacing
from kafkabal.clusters import Capability, Cluster
from kafkabal.errors import InputFileError, KafkabalError, OutputError
from kafkabal.input_files import decode_json, read_bytes
from kafkabal.json_decoders import json_decoder

_KEY = "dead-brokers"
_CURRENT_FOR = timedelta(seconds=10)
"""How long an observation is current: a broker takes longer to restart, and the record is read within a second."""


class Sightings(msgspec.Struct, frozen=True, kw_only=True):
    """What was known of dead brokers when the cluster was last observed."""

    checked_at: datetime
    dead_since: Mapping[int, datetime] = {}
    """When each broker that was dead then was first seen dead."""
    alive_at: Mapping[int, datetime] = {}
    """When this host last saw each of those brokers alive, if it did."""
    seen: tuple[int, ...] = ()
    """Every broker that was ever seen, live or dead: the id of a broker that is gone since is not a typing error."""

    def renewed(self, brokers: Collection[int], dead: Collection[int], now: datetime) -> Sightings:
        """What is known after another observation.

        A first sighting in the future was recorded before the clock was set back; it counts as now, or the grace period
        might last for years.
        """
        since = {b: min(self.dead_since.get(b, now), now) for b in sorted(dead)}
        seen = tuple(sorted({*self.seen, *brokers}))
        # a broker that was dead at the first observation was never seen alive
        alive_at = self.last_alive([b for b in sorted(dead) if b in self.seen])
        return Sightings(checked_at=now, dead_since=since, alive_at=alive_at, seen=seen)

    def last_alive(self, brokers: Collection[int]) -> dict[int, datetime]:
        """When this host last saw these brokers alive, up to its last observation."""
        alive = {**self.alive_at, **{b: self.checked_at for b in brokers if b not in self.dead_since}}
        return {b: alive[b] for b in brokers if b in alive}

    def joined(self, other: Sightings) -> Sightings:
        """The earlier of the two times for each broker, unless it has been seen alive in between.

        ``self`` is the later observation: a broker that it does not list was alive then.
        """
        since = {b: min(at, other.dead_since.get(b, at)) for b, at in self.dead_since.items()}
        seen = tuple(sorted({*self.seen, *other.seen}))
        return Sightings(checked_at=self.checked_at, dead_since=since, seen=seen)


def record_brokers(path: Path, brokers: Collection[int], dead: Collection[int], now: datetime) -> Sightings:
    """Record in a file of this host which brokers exist and which of them are dead now.

    Returns
    -------
    Sightings
        Since when each dead broker has been dead, as far as this host knows; a file that cannot be written is skipped.
    """
    before = read_sightings(path)
    found = (before or Sightings(checked_at=now)).renewed(brokers, dead, now)
    try:
        make_folder_of(path)
        with replacing(path) as file:
            file.write(msgspec.json.encode(found))
    except OutputError:
        pass  # a read-only home directory must not prevent reading a cluster
    return found


def known_to_cluster(cluster: Cluster, ours: Sightings, before: Sightings | None) -> Sightings:
    """Combine what this host and the cluster's record know.

    Parameters
    ----------
    before
        What this host knew before its last observation: a broker that was alive then has not been dead since an
        earlier time that another host may have noted.
    """
    theirs = _recorded(cluster)
    if theirs is None:
        return ours
    # a host with a slow clock records a time at which we saw the broker alive, which would cut the grace period short
    alive_at = before.last_alive(theirs.dead_since) if before is not None else {}
    trusted = {
        b: min(at, ours.checked_at) for b, at in theirs.dead_since.items() if b not in alive_at or at > alive_at[b]
    }
    return ours.joined(Sightings(checked_at=theirs.checked_at, dead_since=trusted, seen=theirs.seen))


def record_on_cluster(cluster: Cluster, sightings: Sightings, now: datetime) -> None:
    """Record sightings on the cluster for other hosts; if that is not permitted, only this host keeps them.

    They are not recorded either if this process was suspended since the observation: a broker may have returned and
    died again, and other hosts would count its grace from the first time.
    """
    if Capability.RECORDS not in cluster.capabilities or now - sightings.checked_at > _CURRENT_FOR:
        return
    try:
        known = _recorded(cluster)
        if known is None or (known.dead_since, known.seen) != (sightings.dead_since, sightings.seen):
            cluster.records().put(_KEY, msgspec.json.encode(sightings))
    except KafkabalError:
        pass  # with a dead broker, the record itself may be unavailable


def read_sightings(path: Path) -> Sightings | None:
    """What this host knew at its last observation; None if there is no file or it is damaged."""
    try:
        return decode_json(json_decoder(Sightings), read_bytes(path), path, "not a list of brokers")
    except InputFileError:
        return None


def _recorded(cluster: Cluster) -> Sightings | None:
    if Capability.RECORDS not in cluster.capabilities:
        return None
    try:
        packed = cluster.records().get_all().get(_KEY)
        return json_decoder(Sightings).decode(packed) if packed else None
    except (KafkabalError, msgspec.MsgspecError):
        return None
