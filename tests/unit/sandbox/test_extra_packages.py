"""Packages of the extra are required only where they are used, and missed in one line."""

from __future__ import annotations

import pytest

from kafkabal.errors import UsageError
from kafkabal.sandbox.extra_packages import extra_module


def test_a_missing_package_is_named_with_the_way_to_get_it() -> None:
    """The error says what to install."""
    with pytest.raises(UsageError, match="missing Python package: no_such_package") as caught:
        extra_module("no_such_package.part")
    assert "kafkabal[sandbox]" in (caught.value.hint or "")
