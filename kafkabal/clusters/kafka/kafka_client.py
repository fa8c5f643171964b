"""Sends a request to the right broker: a specific one, any, all, or the controller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from kafka.protocol.metadata import MetadataRequest

from kafkabal.clusters.clock import Clock, Deadline
from kafkabal.clusters.kafka.broker_address import Address, parse_address
from kafkabal.clusters.kafka.broker_connection import ResponseInPlace
from kafkabal.clusters.kafka.error_mapping import NOT_CONTROLLER, translated
from kafkabal.clusters.kafka.parallel_requests import run_all, run_first
from kafkabal.clusters.kafka.reconnecting_connection import ReconnectingConnection
from kafkabal.clusters.kafka.tls import tls_context
from kafkabal.config import ConnectionSettings
from kafkabal.errors import KafkabalError, MissingCapabilityError, NoResponseError, UnreachableError

_V = TypeVar("_V")

_HEAD_START_S = 0.5
"""After this delay the next bootstrap server is tried as well: a response takes milliseconds, or a third of a second
between continents."""
_FIRST_PAUSE_S = 0.05
"""Metadata follows a change of leader or controller within tens of milliseconds: the first retry mostly succeeds."""
_LONGEST_PAUSE_S = 1.0
"""A new controller is elected within seconds; one request per second does not burden a cluster in trouble."""
_FRACTION_FOR_A_BROKER = 0.8
"""The rest is for the network round trip: a broker that waits as long as we do responds after we have given up, and the
effect of the request is then unknown."""
_KNOWN_TRIED = 2
"""Number of known brokers to try before returning to the bootstrap servers: one may have just died, two at once
hardly."""
BROKERS_TRIED = _KNOWN_TRIED + 1
"""Brokers to which a request that changes nothing is put in turn: the known ones, then a bootstrap server."""


@dataclass(frozen=True, slots=True)
class KnownBroker:
    """A broker registered with the cluster."""

    address: Address
    rack: str | None


@dataclass(frozen=True, slots=True)
class KnownBrokers:
    """Brokers according to the last metadata."""

    cluster_id: str = ""
    controller: int = -1
    """In a KRaft cluster, some broker that forwards requests to the controller."""
    by_id: Mapping[int, KnownBroker] = field(default_factory=dict)


class KafkaClient:
    """Connections to the brokers of one cluster; thread-safe."""

    def __init__(self, settings: ConnectionSettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self._seeds = [parse_address(server) for server in settings.bootstrap_servers]
        self._controllers = [parse_address(server) for server in settings.bootstrap_controllers]
        self._tls = tls_context(settings.tls) if settings.security_protocol.has_tls else None
        self._nodes = KnownBrokers()
        self._links: dict[Address, ReconnectingConnection] = {}
        self._guard = threading.Lock()

    def deadline(self, seconds: float | None = None) -> Deadline:
        """A deadline from now; by default after the request timeout of the settings."""
        return Deadline(self.settings.request_timeout_s if seconds is None else seconds, self.clock)

    def deadline_of_broker(self) -> Deadline:
        """A deadline for a request that only one broker can be sent."""
        return self.deadline(self._of_broker_s)

    def deadline_of_brokers(self) -> Deadline:
        """A deadline for a request that other brokers are asked if one hangs."""
        return self.deadline(min(BROKERS_TRIED * self._of_broker_s, self.settings.request_timeout_s))

    @property
    def broker_timeout_ms(self) -> int:
        """How long a broker may wait for others before it responds: a little less than we wait for it."""
        return int(self._of_broker_s * _FRACTION_FOR_A_BROKER * 1000)

    @property
    def _of_broker_s(self) -> float:
        given_s, request_s = self.settings.broker_timeout_s, self.settings.request_timeout_s
        return request_s if given_s is None else min(given_s, request_s)

    def close(self) -> None:
        """Close all connections."""
        for link in self._links.values():
            link.close()

    def nodes(self) -> KnownBrokers:
        """The last known brokers; requested if none are known yet."""
        if not self._nodes.by_id:
            self.metadata(())
        return self._nodes

    def metadata(self, topics: Collection[str] | None, deadline: Deadline | None = None) -> Any:
        """Request brokers, controller and some topics (None: all topics).

        Returns
        -------
        kafka.protocol.metadata.MetadataResponse
        """
        named = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=named, allow_auto_topic_creation=False, min_version=1)
        response = self.call_any(request, deadline)
        by_id = {b.node_id: KnownBroker(Address(b.host, b.port), b.rack) for b in response.brokers}
        self._nodes = KnownBrokers(response.cluster_id or "", response.controller_id, by_id)
        return response

    def supports(self, request: Any, version: int = 0) -> bool:
        """Whether the brokers support a kind of request (a class of kafka-python) in this version or a later one."""
        try:
            with translated("the brokers"):
                return bool(self._first_responding().versions(self.deadline()).api_version(request) >= version)
        except MissingCapabilityError:
            return False

    def call_any(self, request: Any, deadline: Deadline | None = None) -> Any:
        """Send a request to some broker, or to another one if it does not respond.

        Raises
        ------
        UnreachableError
            If no broker responds in time.
        """
        deadline = deadline or self.deadline_of_brokers()
        for link in self._known_links()[:_KNOWN_TRIED]:
            try:
                return link.call(request, _share(deadline))
            except UnreachableError:
                continue
        seed = self._first_seed(deadline)
        if len(self._seeds) > 1:
            # it may have hung just after it was connected to, also while another thread awaits its response
            with suppress(UnreachableError):
                return seed.call(request, _share(deadline))
            seed = self._first_seed(deadline)
        return seed.call(request, deadline)

    def call_broker(
        self, broker: int, request: Any, deadline: Deadline | None = None, in_place: ResponseInPlace | None = None
    ) -> Any:
        """Send a request to one broker.

        Raises
        ------
        UnreachableError
            If it is not registered, or cannot be connected to in time; nothing was sent.
        NoResponseError
            If the response does not come; the request may have taken effect.
        """
        deadline = deadline or self.deadline_of_broker()
        node = self.nodes().by_id.get(broker)
        if node is None:
            self.metadata((), deadline)
            node = self._nodes.by_id.get(broker)
        if node is None:
            raise UnreachableError(f"broker {broker} is not registered with the cluster")
        return self._link(node.address).call(request, deadline, in_place)

    def versions_of(self, broker: int, deadline: Deadline) -> Any:
        """The versions that a registered broker supports, from a connection to it: kafka-python's
        ``BrokerVersionData``.

        Raises
        ------
        UnreachableError
            If it cannot be connected to in time.
        """
        with translated(f"broker {broker}"):
            return self._link(self.nodes().by_id[broker].address).versions(deadline)

    def for_each(
        self, brokers: Iterable[int], task: Callable[[int, Deadline], _V], seconds: float | None = None
    ) -> dict[int, _V | KafkabalError]:
        """Run a task for all brokers in parallel; no task delays the result beyond the deadline."""
        deadline = self.deadline_of_broker() if seconds is None else self.deadline(seconds)
        return run_all({broker: partial(task, broker, deadline) for broker in brokers}, deadline)

    def call_controller(
        self,
        request: Any,
        codes: Callable[[Any], Iterable[int]],
        deadline: Deadline | None = None,
        *,
        may_repeat: bool = False,
    ) -> Any:
        """Send a request to the controller, and again to the new one if brokers say that it has changed.

        Parameters
        ----------
        codes
            The error codes in a response.
        deadline
            If given, the first broker may take all of it.
        may_repeat
            The request changes nothing, so that it can be repeated at another broker if no response comes.

        Raises
        ------
        UnreachableError
            If no controller can be reached in time; nothing was sent.
        NoResponseError
            If the response does not come; the request may have taken effect.
        """
        is_shared = may_repeat and deadline is None
        deadline = deadline or (self.deadline_of_brokers() if may_repeat else self.deadline_of_broker())
        first: UnreachableError | None = None
        is_needed = False  # whether the controller itself is needed: brokers of a KRaft cluster forward requests to it
        for pause_s in pauses():
            limit = _share(deadline) if is_shared else deadline
            at_several = may_repeat and not is_needed
            try:
                if at_several:
                    response = self._call_forwarders(request, codes, limit)
                else:
                    response = self._controller_link(is_needed=is_needed).call(request, limit)
                if NOT_CONTROLLER not in codes(response) or deadline.remaining_s < pause_s:
                    return response
                is_needed = True
            except UnreachableError as error:
                # brokers that forward a request hold it until there is a controller: asking them again gains nothing
                if at_several and limit.is_over:
                    raise _of_all_attempts(error, first or error, limit) from error
                if deadline.remaining_s < pause_s:
                    # the last attempt has only the rest of the time: what it says of it would mislead
                    raise _of_all_attempts(error, first or error, deadline) from error
                if isinstance(error, NoResponseError) and not may_repeat:
                    raise
                first = first or error
                is_needed = False
            self.clock.sleep(pause_s)
            self.metadata((), deadline)
        raise AssertionError  # the pauses never end

    def _call_forwarders(self, request: Any, codes: Callable[[Any], Iterable[int]], limit: Deadline) -> Any:
        """Send a request that changes nothing to the controller, and to other brokers as well while it does not
        respond: one that hangs delays the response by a third of the limit, and a dead controller costs the limit
        once."""
        links = [self._controller_link(is_needed=False)]
        links += [link for link in self._known_links() if link is not links[0]]
        tasks = [partial(_forwarded, link, request, codes, limit) for link in links[:BROKERS_TRIED]]
        found = run_first(tasks, limit, limit.seconds / BROKERS_TRIED)
        if not isinstance(found, list):
            return found
        rejected = next((error for error in found if isinstance(error, _NotForwardedError)), None)
        refused = next((e for e in found if not isinstance(e, UnreachableError | _NotForwardedError)), None)
        if rejected is not None and refused is None:
            return rejected.response
        raise refused or found[0]

    def call_controller_listener(self, request: Any, codes: Callable[[Any], Iterable[int]]) -> Any:
        """Send a request directly to the listener of the active KRaft controller (KIP-919).

        Raises
        ------
        UnreachableError
            If none of the bootstrap controllers in the settings is active.
        """
        for address in self._controllers:
            try:
                response = self._link(address).call(request, self.deadline_of_broker())
            except NoResponseError:
                raise
            except UnreachableError:
                continue
            if NOT_CONTROLLER not in codes(response):
                return response
        named = ", ".join(map(str, self._controllers))
        raise UnreachableError(
            f"no active controller among the bootstrap controllers: {named or 'none given'}",
            hint="check --bootstrap-controller",
        )

    def _known_links(self) -> list[ReconnectingConnection]:
        """Connections to known brokers: working, free and open ones first."""
        return self._links_to(node.address for node in self._nodes.by_id.values())

    def _links_to(self, addresses: Iterable[Address]) -> list[ReconnectingConnection]:
        links = map(self._link, addresses)
        return sorted(links, key=lambda link: (link.failures, link.is_busy, not link.is_open))

    def _first_responding(self) -> ReconnectingConnection:
        known = self._known_links()
        return known[0] if known and not known[0].failures else self._first_seed(self.deadline())

    def _first_seed(self, deadline: Deadline) -> ReconnectingConnection:
        """The first bootstrap server that accepts a connection.

        One that has responded before comes first: those before it in the list may hang, and cost a head start each.
        """
        links = self._links_to(self._seeds)
        limit = deadline.at_most(self.settings.connect_timeout_s)
        found = run_first([partial(_connected, link, limit) for link in links], limit, _HEAD_START_S)
        if isinstance(found, ReconnectingConnection):
            return found
        errors = dict(zip((link.address for link in links), found, strict=False))
        # in the order given: what goes on has the same words, and is logged once
        asked = [seed for seed in self._seeds if seed in errors]
        raise _of_all(asked, [errors[seed] for seed in asked])

    def _controller_link(self, *, is_needed: bool) -> ReconnectingConnection:
        nodes = self.nodes()
        node = nodes.by_id.get(nodes.controller)
        link = None if node is None else self._link(node.address)
        if link is None or (link.failures and not is_needed):
            return self._first_responding()
        return link

    def _link(self, address: Address) -> ReconnectingConnection:
        with self._guard:
            if address not in self._links:
                self._links[address] = ReconnectingConnection(address, self.settings, self._tls, self.clock)
            return self._links[address]


def _of_all_attempts(last: UnreachableError, first: UnreachableError, deadline: Deadline) -> UnreachableError:
    """The error of a request to the controller, with the broker that was asked first: brokers of a KRaft cluster
    forward it, and the one that was asked need not be what hangs."""
    return type(last)(f"no controller responded within {deadline}: {first.message}", hint=last.hint)


def _share(deadline: Deadline) -> Deadline:
    """The time that one broker may take if others may still have to be tried."""
    return deadline.at_most(deadline.remaining_s / BROKERS_TRIED)


class _NotForwardedError(KafkabalError):
    """A broker that is not the controller, and does not forward requests to it."""

    def __init__(self, response: Any) -> None:
        super().__init__("not the controller")
        self.response = response


def _forwarded(
    link: ReconnectingConnection, request: Any, codes: Callable[[Any], Iterable[int]], deadline: Deadline
) -> Any:
    response = link.call(request, deadline)
    if NOT_CONTROLLER in codes(response):
        raise _NotForwardedError(response)
    return response


def _connected(link: ReconnectingConnection, deadline: Deadline) -> ReconnectingConnection:
    link.versions(deadline)
    return link


def _of_all(seeds: Sequence[Address], errors: Sequence[KafkabalError]) -> KafkabalError:
    """One error if all bootstrap servers failed: an error other than reachability, or else each distinct reason
    once."""
    refused = next((error for error in errors if not isinstance(error, UnreachableError)), None)
    if refused is not None or len(errors) == 1:
        return refused or errors[0]
    reasons = {error.message.replace(str(seed), "*"): error.message for seed, error in zip(seeds, errors, strict=False)}
    if len(reasons) > 1:
        return UnreachableError("; ".join(reasons.values()), hint=errors[0].hint)
    others = ", ".join(map(str, seeds[1:]))
    return UnreachableError(f"{errors[0].message} (the same with {others})", hint=errors[0].hint)


def pauses() -> Iterator[float]:
    """Yield, endlessly, how long to wait before each further attempt: doubling, up to a second."""
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
