"""The drop-in producer for asyncio programs: deliveries are futures, and no call blocks the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import KafkaError, KafkaException, Message

from kafkabal.producer.drop_in_producer import Producer
from kafkabal.producer.producer_options import PREFIX

_POLL_S: Final = 0.1
"""How long a call of librdkafka may wait for delivery reports; closing the producer waits for that call."""
_FULL_QUEUE_S: Final = 0.01
"""Pause before retrying on a full queue: librdkafka frees a batch within milliseconds, and a busy loop would take the
processor from its sender thread."""
_CANCELLED_S: Final = 3.0
"""As `kafkabal produce` after Ctrl-C: a healthy cluster acknowledges what is in flight, and no other delays the end."""


class AsyncProducer:
    """Must be created and used within one event loop, in an ``async with`` block, which waits for all deliveries at its
    end.

    Parameters
    ----------
    config
        As of :class:`~kafkabal.producer.drop_in_producer.Producer`; the first record of a topic never waits for a
        view. What a callback in it raises goes to the event loop's exception handler.

    Examples
    --------
    ::

        async with AsyncProducer({"bootstrap.servers": "broker1:9092"}) as producer:
            delivery = await producer.produce("images", image)
            message = await delivery
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._producer = Producer({f"{PREFIX}first.view.ms": 0, **config})
        # one thread: it runs librdkafka's callbacks
        self._poller = ThreadPoolExecutor(1, "kafkabal-poller")
        self._flushes = 0
        """How many callers wait in :meth:`flush`."""
        self._closing: asyncio.Future[Any] | None = None
        self._poll()

    async def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        *,
        partition: int | None = None,
        timestamp: int | None = None,
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

        while True:
            try:
                self._producer.produce(
                    topic, value, key, partition, on_delivery=report, timestamp=timestamp, headers=headers
                )
                return delivery
            except BufferError:
                await asyncio.sleep(_FULL_QUEUE_S)

    async def flush(self, timeout_s: float | None = None) -> int:
        """Wait until all records are acknowledged or given up, or until the timeout; returns how many are left."""
        end_s = None if timeout_s is None else self._loop.time() + timeout_s
        self._flushes += 1
        try:
            while len(self._producer) and (end_s is None or self._loop.time() < end_s):
                await asyncio.sleep(_FULL_QUEUE_S)
        finally:
            self._flushes -= 1
        return len(self._producer)

    async def close(self) -> None:
        """Flush, then stop. If the wait is cancelled, records that are not acknowledged within 3 seconds are given
        up."""
        await self._close(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """As :meth:`close`; a block that was cancelled counts as a wait that was."""
        await self._close(None if kind is None or issubclass(kind, Exception) else _CANCELLED_S)

    async def _close(self, at_most_s: float | None) -> None:
        try:
            await self.flush(at_most_s)
        except asyncio.CancelledError:
            if at_most_s is None:
                await self._close(_CANCELLED_S)
            else:
                await self._stop()
            raise
        await self._stop()

    async def _stop(self) -> None:
        """Give up what is left, and stop; called again, wait for the first call."""
        if self._closing is None:
            self._producer.purge()
            self._closing = self._run(self._producer.close)
            self._poller.shutdown(wait=False)
        await asyncio.wait({self._closing})

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
