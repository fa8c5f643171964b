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


class AsyncProducer:
    """Must be created and used within one event loop, in an ``async with`` block, which flushes at its end.

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
        self._producer = Producer({f"{PREFIX}first.view.ms": 0, **config})
        self._loop = asyncio.get_running_loop()
        # one thread: it runs librdkafka's callbacks
        self._poller = ThreadPoolExecutor(1, "kafkabal-poller")
        self._is_open = True
        self._polling = asyncio.create_task(self._poll())

    async def produce(self, topic: str, value: str | bytes | None = None, **more: Any) -> asyncio.Future[Message]:
        """Queue a record as soon as there is room; returns a future of its delivery.

        Parameters
        ----------
        more
            ``key``, ``partition``, ``timestamp`` and ``headers``, as of ``confluent_kafka.Producer.produce``.

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
                self._producer.produce(topic, value, on_delivery=report, **more)
                return delivery
            except BufferError:
                await asyncio.sleep(_FULL_QUEUE_S)

    async def flush(self, timeout_s: float | None = None) -> int:
        """Wait until all records are acknowledged or given up, or until the timeout; returns how many are left."""
        end_s = None if timeout_s is None else self._loop.time() + timeout_s
        while len(self._producer) and (end_s is None or self._loop.time() < end_s):
            await asyncio.sleep(_FULL_QUEUE_S)
        return len(self._producer)

    async def close(self) -> None:
        """Stop; call :meth:`flush` first to lose no records."""
        self._is_open = False
        await self._polling
        await self._serve_callbacks(self._producer.close)
        self._poller.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flush unless the block raised an error, then close."""
        if kind is None:
            await self.flush()
        await self.close()

    async def _poll(self) -> None:
        while self._is_open:
            await self._serve_callbacks(self._producer.poll, _POLL_S)

    async def _serve_callbacks(self, call: Callable[..., Any], *given: Any) -> None:
        try:
            await self._loop.run_in_executor(self._poller, call, *given)
        except Exception as error:  # noqa: BLE001 - deliveries are still awaited, whatever a callback of the user does
            context = {"message": "a callback of the producer's configuration failed", "exception": error}
            self._loop.call_exception_handler(context)


def _settle(delivery: asyncio.Future[Message], error: KafkaError | None, message: Message) -> None:
    if delivery.cancelled():
        return
    if error is None:
        delivery.set_result(message)
    else:
        delivery.set_exception(KafkaException(error))
