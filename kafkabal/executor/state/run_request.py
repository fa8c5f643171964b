"""Requests to an active run: another throttle, a pause, its end. Any host can send one; the run polls for them.

A run recorded on the cluster receives requests through its record there; any other, or one whose record is lost,
through a small file next to the journal, and so only on its own host. A request stays in place: a run takes each one
once, and a run that was interrupted takes the latest when it is resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kafkabal.atomic_files import replacing
from kafkabal.clusters import Clock
from kafkabal.errors import NoResponseError, NotAuthorizedError, OperationError, UsageError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import RunListener, Trouble
from kafkabal.executor.run_options import Rate, Throttle
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import FoundRun, find_run, open_cluster_record
from kafkabal.json_decoders import json_decoder

POLL_EVERY_S = 5.0
"""Reading the cluster's record costs a request: at every poll it would be the run's most frequent one, and a pause that
takes effect within 5 s is still soon."""
_POLL_WITHIN_S = 5.0
"""Timeout of one read, since moves wait for it: if the record has no leader, that is half of the time."""
_TRIES, _WRITE_WITHIN_S, _READ_WITHIN_S = 4, 4.0, 1.0
"""How often a request is written, and read back if the write is not acknowledged: 20 s in total. A broker that died is
replaced as leader after 9 s, and no longer awaited as follower; what cannot be written by then has to wait for brokers
to come back."""
_TRIES_BESIDE_LIVE_LEADER = 10
"""The same if the leader does not respond: 40 s or more. It waits for a follower that can store nothing, such as one
whose log dir has failed, for ``replica.lag.time.max.ms``, 30 s by default."""
_MAY_BE_STORED = (
    "'kafkabal inspect' shows which brokers are dead; the run may still follow the request once they are back"
)
"""A leader whose followers have just died accepts a record, but shows it to readers only once they are back."""


class ThrottleChange(msgspec.Struct, frozen=True, kw_only=True):
    """A requested throttle; None leaves a value unchanged."""

    bytes_per_s: Rate | None = None
    """Between brokers."""
    is_auto: bool = False
    """Adapt the throttle to the load of the cluster, starting at the current rate."""
    log_dir_bytes_per_s: Rate | None = None
    """Between log dirs."""

    @property
    def _is_of_log_dirs_only(self) -> bool:
        return self.bytes_per_s is None and not self.is_auto

    def over(self, earlier: ThrottleChange) -> ThrottleChange:
        """Combine two requests; this one wins if they conflict."""
        between_brokers = earlier if self._is_of_log_dirs_only else self
        return ThrottleChange(
            bytes_per_s=between_brokers.bytes_per_s,
            is_auto=between_brokers.is_auto,
            log_dir_bytes_per_s=self.log_dir_bytes_per_s or earlier.log_dir_bytes_per_s,
        )

    def applied_to(self, throttle: Throttle) -> Throttle:
        """The throttle with which a run continues."""
        from kafkabal.executor.throttle.auto_rate import FIRST_LEAST_BYTES_PER_S  # needs numpy to measure load

        rate = throttle.bytes_per_s if self.bytes_per_s is None else self.bytes_per_s
        return replace(
            throttle,
            bytes_per_s=FIRST_LEAST_BYTES_PER_S if self.is_auto and rate is None else rate,
            is_auto=throttle.is_auto if self._is_of_log_dirs_only else self.is_auto,
            log_dir_bytes_per_s=self.log_dir_bytes_per_s or throttle.log_dir_bytes_per_s,
            is_log_dir_auto=throttle.is_log_dir_auto and self.log_dir_bytes_per_s is None,
        )


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks of an active run."""

    requested: ThrottleChange = ThrottleChange()
    is_cancelled: bool = False
    """Whether the run must cancel what it has in flight and end."""
    is_paused: bool = False
    """Whether the run must move nothing until another request says otherwise."""
    asked_at: str
    """Distinguishes it from other requests."""


class RunRequests:
    """The latest request for a run, wherever it is stored."""

    def __init__(self, journal: Path, cluster_record: ClusterRecord | None, run_id: str, clock: Clock) -> None:
        self._path = journal.with_suffix(".throttle")
        self._cluster_record = cluster_record
        self._run_id = run_id
        self._clock = clock
        self._polled_s = float("-inf")

    def latest(self) -> RunRequest | None:
        """The latest request, taken or not; None if there is none, or if it is too early to read again."""
        now_s = self._clock.monotonic()
        if now_s - self._polled_s < POLL_EVERY_S:
            return None
        self._polled_s = now_s
        # a request that cannot be read now is read later: the run itself does not depend on it
        with suppress(OperationError):
            return self.current()
        return None

    def current(self) -> RunRequest | None:
        """The latest request, read now; None if there is none that can be parsed.

        Raises
        ------
        OperationError
            If the cluster's record cannot be read in time.
        """
        with suppress(msgspec.DecodeError):
            packed = self._read(_POLL_WITHIN_S)
            return json_decoder(RunRequest).decode(packed) if packed else None
        return None

    def put(self, request: RunRequest, listener: RunListener | None = None) -> None:
        """Store a request, replacing the previous one.

        Parameters
        ----------
        listener
            Receives a ``Trouble`` once the first attempt has failed.

        Raises
        ------
        OutputError, OperationError
            If it cannot be written, or if it is unknown whether it was.
        """
        packed = msgspec.json.encode(request)
        if self._cluster_record is None:
            with replacing(self._path) as file:
                file.write(packed)
            return
        for failed in count(1):
            try:
                self._cluster_record.put_request(self._run_id, packed, within_s=_WRITE_WITHIN_S)
            except NotAuthorizedError:
                raise
            except OperationError as error:
                # with dead replicas the write may not be acknowledged although it is stored; what can be read, the run
                # reads too
                if self._has(packed):
                    return
                most = _TRIES_BESIDE_LIVE_LEADER if isinstance(error, NoResponseError) else _TRIES
                if failed == 1 and listener is not None:
                    longest_s = most * _WRITE_WITHIN_S
                    listener.on_event(Trouble(error=error.message, since_s=0.0, next_try_s=0.0, give_up_s=longest_s))
                if failed >= most:
                    raise OperationError(
                        f"cannot ask run {self._run_id}: {error.message}", hint=_MAY_BE_STORED
                    ) from error
            else:
                return

    def _has(self, packed: bytes) -> bool:
        with suppress(OperationError):
            return self._read(_READ_WITHIN_S) == packed
        return False

    def _read(self, within_s: float) -> bytes | None:
        record = self._cluster_record
        packed = record.request(self._run_id, within_s=within_s) if record is not None else None
        if packed is None:
            # a command that finds no record of the run on the cluster, as after its topic was deleted, leaves its
            # request in the file
            with suppress(OSError):
                return self._path.read_bytes()
        return packed


def request_throttle(environment: RunEnvironment, requested: ThrottleChange) -> str:
    """Ask the latest run for another throttle: through its record on the cluster, otherwise through a file on its host.

    An earlier request that has not been taken yet still holds, unless this one contradicts it.

    Returns
    -------
    str
        Id of the run.

    Raises
    ------
    UsageError
        If no run is open, as far as this host and the cluster know.
    OutputError, OperationError
        If the request cannot be written.
    """
    # a run reads only the latest request: a request without the pause would end the pause
    return _replace_request(environment, None, lambda kept: replace(kept, requested=requested.over(kept.requested)))


def request_pause(environment: RunEnvironment, *, is_paused: bool) -> str:
    """Ask the latest run, on whatever host, to pause or to continue; returns its id.

    An earlier throttle request that has not been taken yet still holds.

    Raises
    ------
    UsageError
        If no run is open, as far as this host and the cluster know.
    OutputError, OperationError
        If the request cannot be written.
    """
    return _replace_request(environment, None, lambda kept: replace(kept, is_paused=is_paused))


def is_pause_requested(environment: RunEnvironment) -> bool:
    """Whether the latest request to the latest run is a pause."""
    found = find_run(environment)
    request = _requests_of(environment, found).latest() if found is not None else None
    return request is not None and request.is_paused


def request_cancel(environment: RunEnvironment, *, journal: Path | None = None) -> str:
    """Ask the latest run, on whatever host, to cancel what it has in flight and end; returns its id.

    Raises
    ------
    UsageError
        If no run is open, as far as this host and the cluster know.
    OutputError, OperationError
        If the request cannot be written.
    """
    return _replace_request(environment, journal, lambda kept: RunRequest(is_cancelled=True, asked_at=kept.asked_at))


def _replace_request(
    environment: RunEnvironment, journal: Path | None, change: Callable[[RunRequest], RunRequest]
) -> str:
    """Replace the latest request with one made from the parts of it that still hold; returns the id of the run.

    A pause holds until another request ends it; a throttle request holds only until the run has taken it.
    """
    found = _open_run(environment, journal)
    requests = _requests_of(environment, found)
    # if the latest request cannot be read, replacing it would end a pause that still holds
    before = requests.current()
    is_untaken = before is not None and before.asked_at != found.state.asked_at
    kept = RunRequest(
        requested=before.requested if before is not None and is_untaken else ThrottleChange(),
        is_paused=before is not None and before.is_paused,
        asked_at=environment.clock.utc_now().isoformat(),
    )
    requests.put(change(kept), environment.listener)
    return found.record.run_id


def _open_run(environment: RunEnvironment, journal: Path | None) -> FoundRun:
    found = find_run(environment, journal)
    if found is None or not found.is_open:
        raise UsageError(
            "no active run on this cluster",
            hint="see 'kafkabal rebalance history'; without a record on the cluster, only the run's own host shows it",
        )
    return found


def _requests_of(environment: RunEnvironment, found: FoundRun) -> RunRequests:
    run_id = found.record.run_id
    path = found.journal.path if found.journal else environment.journal_path(found.record.cluster_id, run_id)
    cluster_record = open_cluster_record(environment.cluster)
    if cluster_record is not None and cluster_record.run_id() != run_id:
        cluster_record = None
    return RunRequests(path, cluster_record, run_id, environment.clock)
