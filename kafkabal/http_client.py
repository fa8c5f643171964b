"""HTTP requests with the proxies and certificates that the environment names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.errors import ConfigError

if TYPE_CHECKING:
    import httpx


def open_http_client(timeout_s: float, transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Open a client; use it in a ``with`` block, or close it.

    Parameters
    ----------
    transport
        None opens connections.

    Raises
    ------
    ConfigError
        If what the environment names cannot be used.
    """
    import httpx  # costs a tenth of a second, and few need it

    try:
        return httpx.Client(timeout=timeout_s, transport=transport)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            f"HTTP requests are impossible: {error}",
            hint="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        ) from error
