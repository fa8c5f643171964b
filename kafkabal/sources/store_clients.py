"""How the clients of single kinds of stores must be set up, so that they never wait forever or return wrong data."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from kafkabal.sources.source_url import is_web_page

_TIMEOUTS_S: Final = (30.0, 60.0)
"""To connect, and without any byte. Both clients below wait forever by default. Those of S3 wait 60 s, and servers
that are only slow respond sooner."""
_GOOGLE: Final = ("gs", "gcs")
_NOT_FOUND: Final = 404


def client_options(url: str) -> Mapping[str, Any]:
    """Options for the client that fsspec creates for a URL; those that the user has configured are kept."""
    from fsspec.config import conf

    protocol = url.partition(":")[0]
    if is_web_page(url):  # it must not compress, or it would send other bytes than those of a range
        return {"headers": {**conf.get(protocol, {}).get("headers", {}), "Accept-Encoding": "identity"}}
    if protocol in _GOOGLE and not any("requests_timeout" in conf.get(name, {}) for name in _GOOGLE):
        with suppress(ImportError):  # then gcsfs is missing too, which fsspec names
            from aiohttp import ClientTimeout

            connect_s, read_s = _TIMEOUTS_S
            return {"requests_timeout": ClientTimeout(sock_connect=connect_s, sock_read=read_s)}
    return {}


def prepare_client(files: Any) -> None:
    """Make a client that fsspec has created safe to read with, if it needs that; it may have been prepared before."""
    if "webhdfs" in files.protocol and not files.session.hooks["response"]:
        files.session.hooks["response"].append(partial(_refuse_error, f"{files.url}/"))
        files.session.request = partial(files.session.request, timeout=_TIMEOUTS_S)


def _refuse_error(name_node: str, response: Any, **_: Any) -> None:
    """Raise the error of a data node, which fsspec would return as the content of the file; it checks the name node."""
    if response.ok or response.url.startswith(name_node):
        return
    if response.status_code == _NOT_FOUND:
        raise FileNotFoundError
    try:
        reason = str(response.json()["RemoteException"]["message"]).partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        reason = f"the server responded {response.status_code} {response.reason}"
    raise OSError(errno.EIO, reason)
