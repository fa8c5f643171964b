"""URLs of sources: their kind, and how they are shown, without the secrets in them."""

from __future__ import annotations

import re
from typing import Final

from kafkabal.sources.source_protocol import escaped_name

_PASSWORD: Final = re.compile(r"(://[^/:@]*):[^/]*@")
_SIGNATURES: Final = frozenset({"x-amz-signature", "x-goog-signature", "signature", "sig"})
"""Parameters of signed URLs, in lower case: of Amazon and Google, of CloudFront and older URLs of both, of Azure."""
_SIGNED: Final = re.compile(
    r"x-(amz|goog)-.*|awsaccesskeyid|googleaccessid|key-pair-id|expires|policy|signature"
    r"|s(v|s|rt|r|p|t|e|ip|pr|dd|i|ig|koid|ktid|kt|ke|ks|kv|aoid|uoid|cid)"
)
"""All parameters with which such a URL is signed; with a new signature it is still the same file."""


def is_url(name: str) -> bool:
    """Whether a source is in a remote store."""
    return "://" in name


def is_web_page(url: str) -> bool:
    """Whether a URL is one of a web server, which has pages with links instead of folders."""
    return url.startswith(("http://", "https://"))


def shown_url(url: str) -> str:
    """A URL for messages and manifests, without the password or the signature in it."""
    return escaped_name(_PASSWORD.sub(r"\1@", _without_signature(url)))


def _without_signature(url: str) -> str:
    page, _, query = url.partition("?")
    given = [(each, each.partition("=")[0].lower()) for each in query.split("&")]
    if not is_web_page(url) or _SIGNATURES.isdisjoint(name for _, name in given):
        return url
    kept = "&".join(each for each, name in given if not _SIGNED.fullmatch(name))
    return f"{page}?{kept}" if kept else page
