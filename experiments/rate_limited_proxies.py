"""TCP proxies that limit the rate of what clients send to a broker, as a slow network or disk would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from multiprocessing import get_context
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_HOST = "127.0.0.1"
_CHUNK_BYTES = 16 * 1024
_STARTING_S = 10.0


class RateLimitedProxies:
    """One proxy per broker, all in one separate process, until the block ends.

    Parameters
    ----------
    routes
        By the port that clients use: the port of the broker, and its rate in bytes per second.
    """

    def __init__(self, routes: Mapping[int, tuple[int, float]]) -> None:
        # a thread and the producer's threads would wait for each other
        context = get_context("spawn")
        self._ready, child = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(dict(routes), child), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        assert self._ready.poll(_STARTING_S), "the proxies do not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join(_STARTING_S)


def _run(routes: Mapping[int, tuple[int, float]], ready: Connection) -> None:
    asyncio.run(_serve_all(routes, ready))


async def _serve_all(routes: Mapping[int, tuple[int, float]], ready: Connection) -> None:
    for port, (target, bytes_per_s) in routes.items():
        await _serve(port, target, _Bucket(bytes_per_s))
    ready.send(None)
    await asyncio.Event().wait()


class _Bucket:
    """A token bucket of bytes, shared by all connections to a broker."""

    def __init__(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._free_at_s = 0.0

    async def take(self, count: int) -> None:
        now = asyncio.get_running_loop().time()
        self._free_at_s = max(now, self._free_at_s) + count / self._bytes_per_s
        await asyncio.sleep(self._free_at_s - now)


async def _serve(port: int, target: int, bucket: _Bucket) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            up_reader, up_writer = await asyncio.open_connection(_HOST, target)
            await asyncio.gather(_pump(reader, up_writer, bucket), _pump(up_reader, writer, None))

    # a small buffer, so that clients feel the rate and not the memory of the proxy
    await asyncio.start_server(connected, _HOST, port, limit=_CHUNK_BYTES)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, bucket: _Bucket | None) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK_BYTES):
            if bucket is not None:
                await bucket.take(len(data))
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
