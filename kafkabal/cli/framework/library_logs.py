"""What libraries log: by default nothing, since a library's warning is no message for a user; with ``-vv`` all."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_HANDLER = "kafkabal"


def direct_logs(stderr: TextIO, *, everything: bool) -> None:
    """Send the log records of all libraries to stderr, or nowhere."""
    root = logging.getLogger()
    for former in [handler for handler in root.handlers if handler.get_name() == _HANDLER]:
        root.removeHandler(former)
    handler: logging.Handler = logging.StreamHandler(stderr) if everything else logging.NullHandler()
    handler.set_name(_HANDLER)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if everything else logging.WARNING)
