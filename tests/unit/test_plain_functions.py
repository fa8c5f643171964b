"""Functions of users that are called for a result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

from kafkabal.plain_functions import function_fault


async def coroutine(value: Any) -> Any:
    """An async function."""
    return value


async def async_generator(value: Any) -> AsyncIterator[Any]:
    """An async function that yields."""
    yield value


def generator(value: Any) -> Iterator[Any]:
    """A generator function."""
    yield value


class Async:
    """An object whose call is async."""

    async def __call__(self, value: Any) -> Any:
        """As of :func:`coroutine`."""
        return value


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (str.upper, None),
        (partial(str.replace, "a"), None),
        (dict, None),
        (3, "not a function"),
        (coroutine, "an async function"),
        (async_generator, "an async function"),
        (partial(coroutine, 1), "an async function"),
        (Async(), "an async function"),
        (generator, "a generator function"),
    ],
)
def test_a_function_that_returns_nothing_by_itself_is_refused(given: Any, fault: str | None) -> None:
    """Calling it creates an object and runs none of its body: it is named instead of being called."""
    found = function_fault(given)
    assert found == fault if found is None or fault is None else found.startswith(fault)
