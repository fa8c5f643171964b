"""A web server on this machine, for tests of remote files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def served_here(handler: type[BaseHTTPRequestHandler], end: threading.Event) -> Iterator[ThreadingHTTPServer]:
    """Serve in a thread until the block ends; then ``end`` lets stalled responses go on."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield server
        end.set()
        server.shutdown()
        serving.join()
