"""The lock of a cluster with ZooKeeper: an ephemeral znode, by kazoo's recipe."""

from __future__ import annotations

from contextlib import suppress

from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from kafkabal.clusters.clock import Clock
from kafkabal.clusters.lock_request import IsGone, LockRequest
from kafkabal.clusters.zookeeper.znodes import (
    abandon_zookeeper,
    close_zookeeper,
    no_response,
    open_zookeeper,
    translated,
)
from kafkabal.daemon_executor import DaemonExecutor
from kafkabal.errors import BusyError

LOCK_PATH = "/kafkabal/lock"
_PROOF_TIMEOUT_S = 2.0
"""Well below half a session, within which the fence requires a proof."""


def lock_holders(servers: str, within_s: float) -> tuple[str, ...]:
    """The holders of the cluster's lock; does not acquire it, since a query must not block a run."""
    client = open_zookeeper(servers, within_s)
    try:
        with translated(servers), suppress(NoNodeError):
            owners = [client.get(f"{LOCK_PATH}/{name}")[0] for name in client.get_children(LOCK_PATH)]
            return tuple(str(owner.decode(errors="replace")) for owner in owners)
        return ()
    finally:
        close_zookeeper(client)


class ZookeeperLock:
    """Held as long as the session is alive; kazoo sends its heartbeats.

    Parameters
    ----------
    request
        Without a heartbeat for its session, ZooKeeper expires the session and the next process may acquire the lock.
    within_s
        How long the attempt may take; what is acquired later is released.

    Raises
    ------
    BusyError
        If another process holds it; the message names the holder.
    """

    def __init__(self, servers: str, clock: Clock, request: LockRequest, within_s: float) -> None:
        self._path = f"{LOCK_PATH}-{request.purpose}" if request.purpose else LOCK_PATH
        self._clock = clock
        self._session_s = request.session_s
        self._lost = False
        self._client = open_zookeeper(servers, within_s, request.session_s)
        self._lock = self._client.Lock(self._path, request.owner)
        self._proven_s = clock.monotonic()

        def acquire() -> tuple[bool, list[str]]:
            self._remove_gone(request.is_gone)
            is_ours = self._lock.acquire(blocking=False)
            return is_ours, [] if is_ours else self._lock.contenders()

        try:
            # a server that stops responding would be waited for until the session is over, or by the recipe forever
            with translated(servers), DaemonExecutor("kafkabal-zookeeper") as attempt:
                is_ours, holders = attempt.submit(acquire).result(within_s)
        except TimeoutError:
            abandon_zookeeper(self._client)
            raise no_response(servers) from None
        except BaseException:
            close_zookeeper(self._client)
            raise
        if not is_ours:
            close_zookeeper(self._client)
            name = holders[0] if holders else "another kafkabal"
            hint = f"wait for it to finish; if it crashed, its lock expires within {self._session_s:g} s"
            raise BusyError(f"cluster locked by {name}", hint=hint)
        self._node = f"{self._path}/{self._lock.node}"

    @property
    def scope(self) -> str:
        """All hosts that use the same ZooKeeper."""
        return f"zookeeper {self._path}"

    def seconds_since_heartbeat(self) -> float:
        """Time since the last proof that the znode exists and is ours; every call tries to get a new one."""
        asked_s = self._clock.monotonic()
        try:
            found = self._client.exists_async(self._node).get(timeout=_PROOF_TIMEOUT_S)
        except (KazooException, KazooTimeoutError):
            found = None
        else:
            self._lost = self._lost or found is None or found.ephemeralOwner != self._client.client_id[0]
        if found is not None and not self._lost:
            self._proven_s = asked_s
        return self._clock.monotonic() - self._proven_s

    def is_held(self) -> bool:
        """False once the znode is gone, or ZooKeeper has not responded for a session."""
        since_heartbeat_s = self.seconds_since_heartbeat()
        return not self._lost and since_heartbeat_s < self._session_s

    def release(self) -> None:
        """Remove the znode, so that the next process need not wait; does nothing if it is already gone."""
        self._lost = True
        close_zookeeper(self._client)

    def _remove_gone(self, is_gone: IsGone) -> None:
        """Remove the znodes of holders that are known to be dead; each has a unique name."""
        if not self._client.exists(self._path):
            return
        for name in self._client.get_children(self._path):
            with suppress(NoNodeError):
                owner, _ = self._client.get(f"{self._path}/{name}")
                if is_gone(owner.decode(errors="replace")):
                    self._client.delete(f"{self._path}/{name}")
