"""The files and folders that an index page of a web server links to."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final
from urllib.parse import quote, unquote, urljoin, urlsplit

_ESCAPED: Final = {"encoding": "utf-8", "errors": "surrogateescape"}
"""Names need not be UTF-8, as in a local folder."""


class _Links(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """See :meth:`html.parser.HTMLParser.handle_starttag`."""
        if tag == "a":
            self.found += [value.strip() for name, value in attrs if name == "href" and value]


def linked_names(page: bytes, url: str) -> list[str]:
    """Names of the files and folders below the URL of an index page, unescaped; those of folders end with ``/``.

    Other links are skipped: to other servers, to the folders above, and those with a query, by which index pages are
    sorted.
    """
    base = urlsplit(url)
    above = unquote(base.path, **_ESCAPED)
    names: dict[str, None] = {}
    for path in _paths(page, url):
        name = unquote(path, **_ESCAPED)
        below = name.removeprefix(above)
        if name.startswith(above) and below and not {"", ".", ".."} & set(below.removesuffix("/").split("/")):
            names[below] = None
    return list(names)


def _paths(page: bytes, url: str) -> Iterator[str]:
    """Paths of links without a query to the server of the page."""
    host = _host(urlsplit(url).netloc)
    for link in _Links(page.decode("utf-8", "replace")).found:
        try:
            target = urlsplit(urljoin(url, link))
        except ValueError:  # such as a bracket that looks like an IPv6 address
            continue
        if target.scheme in ("http", "https") and _host(target.netloc) == host and not target.query:
            yield target.path


def _host(netloc: str) -> str:
    """Host and port, without user and password, which links do not have."""
    return netloc.rpartition("@")[2].lower()


def escaped_path(name: str) -> str:
    """A name as part of a URL."""
    return quote(name, safe="/", **_ESCAPED)
