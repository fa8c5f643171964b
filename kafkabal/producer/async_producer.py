"""The drop-in producer for asyncio programs: deliveries are futures, and no call blocks the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from weakref import finalize

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from kafkabal.daemon_executor import DaemonExecutor
from kafkabal.errors import UsageError
from kafkabal.producer.drop_in_producer import Producer
from kafkabal.producer.producer_options import ONLY_ERRORS, PREFIX
from kafkabal.producer.slot_router import UNROUTED, RoutingStatus

_POLL_S: Final = 0.1
"""How long a call of librdkafka may wait for delivery reports; closing the producer waits for that call."""
_FULL_QUEUE_S: Final = 0.01
"""Pause before retrying on a full queue: librdkafka frees a batch within milliseconds, and a busy loop would take the
processor from its sender thread."""
_CANCELLED_S: Final = 3.0
"""As `kafkabal produce` after Ctrl-C: a healthy cluster acknowledges what is in flight, and no other delays the end."""
_NO_LIMIT: Final = -1.0
"""A timeout of librdkafka."""
_T = TypeVar("_T")


class AsyncProducer:
    """Must be created and used within one event loop, in an ``async with`` block, which waits for all deliveries at its
    end.

    Its methods are those of ``confluent_kafka.aio.AIOProducer``; it also takes headers. Those that wait for brokers do
    so in a thread, and cancelling them does not end their request.

    Parameters
    ----------
    config
        As of :class:`~kafkabal.producer.drop_in_producer.Producer`; the first record of a topic never waits for a
        view. Callbacks in it run in threads; what they raise goes to the event loop's exception handler.

    Raises
    ------
    UsageError, ConfigError, KafkaException, ValueError, TypeError
        As of :class:`~kafkabal.producer.drop_in_producer.Producer`; also if it would get no delivery reports.

    Examples
    --------
    ::

        async with AsyncProducer({"bootstrap.servers": "broker1:9092"}) as producer:
            delivery = await producer.produce("images", image)
            message = await delivery
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        if config.get(ONLY_ERRORS) is True:
            raise UsageError(
                f"{ONLY_ERRORS}: the future of a delivered record would never be done", hint="leave the setting out"
            )
        self._producer = Producer({f"{PREFIX}first.view.ms": 0, **config})
        self._poller = DaemonExecutor("kafkabal-poller")
        finalize(self, self._poller.shutdown, wait=False)
        self._turn = asyncio.Lock()
        """Held by the caller of :meth:`produce` that waits for room in the queue; the others wait for it."""
        self._flushes = 0
        """How many callers wait in :meth:`flush`."""
        self._has_abandoned_call = False
        """Whether the wait for a request was cancelled."""
        self._closing: asyncio.Future[Any] | None = None
        self._poll()

    async def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        *,
        partition: int = UNROUTED,
        timestamp: int = 0,
        headers: Any = None,
    ) -> asyncio.Future[Message]:
        """Queue a record as soon as there is room; returns a future of its delivery.

        Parameters
        ----------
        key, partition, timestamp, headers
            As of ``confluent_kafka.Producer.produce``.

        Raises
        ------
        KafkaException
            If librdkafka refuses the record. If the delivery fails, awaiting the future raises it.
        """
        delivery: asyncio.Future[Message] = self._loop.create_future()

        def report(error: KafkaError | None, message: Message) -> None:
            self._loop.call_soon_threadsafe(_settle, delivery, error, message)

        # in order: thousands of callers that all try again take the processor from librdkafka
        async with self._turn:
            while True:
                try:
                    self._producer.produce(
                        topic, value, key, partition, on_delivery=report, timestamp=timestamp, headers=headers
                    )
                    return delivery
                except BufferError:
                    await asyncio.sleep(_FULL_QUEUE_S)

    def __len__(self) -> int:
        return len(self._producer)

    def __bool__(self) -> bool:
        return True  # also without records, as the client itself

    async def poll(self, timeout: float = 0.0) -> int:
        """Serve callbacks, as ``confluent_kafka.Producer.poll``; a thread also serves them all the time."""
        return await self._call(self._producer.poll, timeout)

    async def flush(self, timeout: float = _NO_LIMIT) -> int:
        """Wait until all records are acknowledged or given up, or until the timeout; returns how many are left."""
        end_s = None if timeout < 0 else self._loop.time() + timeout
        self._flushes += 1
        try:
            while len(self._producer) and (end_s is None or self._loop.time() < end_s):
                await asyncio.sleep(_FULL_QUEUE_S)
        finally:
            self._flushes -= 1
        return len(self._producer)

    async def purge(self, *given: bool, **named: bool) -> None:
        """Give up records, as ``confluent_kafka.Producer.purge``; awaiting their deliveries raises an error."""
        await self._call(lambda: self._producer.purge(*given, **named))

    async def list_topics(self, topic: str | None = None, timeout: float = _NO_LIMIT) -> Any:
        """See ``confluent_kafka.Producer.list_topics``."""
        return await self._call(self._producer.list_topics, topic, timeout)

    async def cluster_id(self, timeout: float = _NO_LIMIT) -> str:
        """See ``confluent_kafka.Producer.cluster_id``."""
        return await self._call(self._producer.cluster_id, timeout)

    async def set_sasl_credentials(self, username: str, password: str) -> None:
        """See ``confluent_kafka.Producer.set_sasl_credentials``."""
        await self._call(self._producer.set_sasl_credentials, username, password)

    async def init_transactions(self, timeout: float = _NO_LIMIT) -> None:
        """See ``confluent_kafka.Producer.init_transactions``."""
        await self._call(self._producer.init_transactions, timeout)

    async def begin_transaction(self) -> None:
        """See ``confluent_kafka.Producer.begin_transaction``."""
        await self._call(self._producer.begin_transaction)

    async def send_offsets_to_transaction(
        self, positions: list[TopicPartition], group_metadata: Any, timeout: float = _NO_LIMIT
    ) -> None:
        """See ``confluent_kafka.Producer.send_offsets_to_transaction``."""
        await self._call(self._producer.send_offsets_to_transaction, positions, group_metadata, timeout)

    async def commit_transaction(self, timeout: float = _NO_LIMIT) -> None:
        """Flush and commit; see ``confluent_kafka.Producer.commit_transaction``."""
        await self._call(self._producer.commit_transaction, timeout)

    async def abort_transaction(self, timeout: float = _NO_LIMIT) -> None:
        """Give up what is not delivered, and abort; see ``confluent_kafka.Producer.abort_transaction``."""
        await self._call(self._producer.abort_transaction, timeout)

    def routing(self) -> tuple[RoutingStatus, ...]:
        """See :meth:`~kafkabal.producer.drop_in_producer.Producer.routing`."""
        return self._producer.routing()

    async def close(self) -> None:
        """Flush, abort an open transaction, then stop. If the wait is cancelled, records that are not acknowledged
        within 3 seconds are given up."""
        await self._close(_NO_LIMIT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As :meth:`close`; a block that was cancelled counts as a wait that was."""
        await self._close(_NO_LIMIT if kind is None or issubclass(kind, Exception) else _CANCELLED_S)

    async def _close(self, at_most_s: float) -> None:
        try:
            await self.flush(at_most_s)
        except asyncio.CancelledError:
            if at_most_s < 0:
                await self._close(_CANCELLED_S)
            else:
                await self._stop(at_most_s)
            raise
        await self._stop(at_most_s)

    async def _stop(self, at_most_s: float) -> None:
        """Give up what is left, and stop; called again, wait for the first call.

        Brokers that do not respond would delay it: a transaction to abort by a minute, an abandoned request for
        metadata without end.
        """
        if self._closing is None:
            self._producer.purge()
            self._closing = self._run(self._producer.close)
            self._poller.shutdown(wait=False)
        limit_s = _CANCELLED_S if self._has_abandoned_call else at_most_s
        await asyncio.wait({self._closing}, timeout=None if limit_s < 0 else limit_s)

    async def _call(self, blocking: Callable[..., _T], *given: Any) -> _T:
        """The result of a call that waits for brokers; deliveries are reported meanwhile."""
        thread = DaemonExecutor("kafkabal-call")
        done = self._loop.run_in_executor(thread, blocking, *given)
        thread.shutdown(wait=False)
        try:
            return await done
        except asyncio.CancelledError:
            self._has_abandoned_call = True
            raise

    def _poll(self) -> None:
        """Serve delivery reports until the producer is closed.

        Not a task: programs that end by cancelling all tasks still get their deliveries.
        """
        if self._closing is None:
            # flush serves them too, and ends the linger time
            serve = self._producer.flush if self._flushes else self._producer.poll
            self._run(serve, _POLL_S).add_done_callback(lambda _: self._poll())

    def _run(self, call: Callable[..., Any], *given: Any) -> asyncio.Future[Any]:
        done = self._loop.run_in_executor(self._poller, call, *given)
        done.add_done_callback(self._show_fault)
        return done

    def _show_fault(self, done: asyncio.Future[Any]) -> None:
        """Pass on what a callback of the user raised; deliveries are still awaited."""
        if (error := done.exception()) is not None:
            context = {"message": "a callback of the producer's configuration failed", "exception": error}
            self._loop.call_exception_handler(context)


def _settle(delivery: asyncio.Future[Message], error: KafkaError | None, message: Message) -> None:
    if delivery.cancelled():
        return
    if error is None:
        delivery.set_result(message)
    else:
        delivery.set_exception(KafkaException(error))
