"""Settings for programs: what is refused before any broker is contacted."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.config.settings_for_python_api import settings_of
from kafkabal.errors import UsageError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"profile": 7}, r"^profile: must be text \(7\)"),
        ({"bootstrap_servers": b"h:1"}, r"^bootstrap_servers: must be text \(b'h:1'\)"),
        ({"command_config": True}, r"^command_config: must be text \(True\)"),
        ({"profile": ["prod"]}, r"^profile: must be text \(\['prod'\]\)"),
    ],
)
def test_what_is_not_text_is_refused(given: dict[str, Any], message: str) -> None:
    """A number or bytes, as a program may read them from a file of its own, are named and no fault of Python."""
    with pytest.raises(UsageError, match=message):
        settings_of(**given)
