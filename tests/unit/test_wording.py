"""Counted nouns and truncated lists in messages."""

from __future__ import annotations

import errno
import os

import pytest

from kafkabal.reporting.cell_formats import show_value
from kafkabal.reporting.report import ValueKind
from kafkabal.wording import brokers_by_id, choice_hint, counted_noun, first_of, replica_list, suggestion, system_fault


@pytest.mark.parametrize(
    ("n", "shown"), [(0, "0 replicas"), (1, "1 replica"), (2, "2 replicas"), (1200, "1,200 replicas")]
)
def test_one_is_counted_as_one(n: int, shown: str) -> None:
    """One takes the singular, every other number the plural."""
    assert counted_noun(n, "replica") == shown


def test_a_long_list_is_cut() -> None:
    """Five names are shown, and the others counted."""
    assert first_of("abcde") == "a, b, c, d, e"
    assert first_of("abcdefg") == "a, b, c, d, e and 2 more"
    assert first_of(range(3), 1, separator="; ") == "0 and 2 more"


def test_brokers_are_named_by_their_ids() -> None:
    """One broker is named in the singular."""
    assert [brokers_by_id([3]), brokers_by_id([3, 7])] == ["broker 3", "brokers 3, 7"]


def test_replicas_are_listed_as_by_kafka() -> None:
    """In their order and without spaces, in sentences and in tables; names in a table have spaces between them."""
    assert [replica_list([5, 6, 1]), show_value([5, 6, 1], ValueKind.TEXT)] == ["5,6,1", "5,6,1"]
    assert show_value(["/d0", "/d1"], ValueKind.TEXT) == "/d0, /d1"
    assert show_value([], ValueKind.TEXT) == "-"


def test_an_unknown_name_gets_those_like_it_or_else_all() -> None:
    """A typing error suggests the name that was meant; anything else lists the choices."""
    assert choice_hint("dsk", ["leaders", "disk"]) == "did you mean: disk"
    assert choice_hint("xyzzy", ["leaders", "disk"]) == "choose from: disk, leaders"
    assert choice_hint("rate", ["latency"], likeness=0.6) == "choose from: latency"


def test_where_names_are_many_only_those_like_it_are_suggested() -> None:
    """Up to three, the most similar first; None if no name is like it."""
    assert suggestion("imgs", ["imgs2", "imgs1", "images", "img"]) == "did you mean: imgs2, imgs1, img"
    assert suggestion("imgs", ["imgs2", "imgs1"], most=1) == "did you mean: imgs2"
    assert suggestion("xyzzy", ["images"]) is None


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (errno.EISDIR, "is a folder"),
        (errno.ENOTDIR, "a folder on its path is a file"),
        (errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_folder_is_called_a_folder_whatever_the_system_says(code: int, shown: str) -> None:
    """The same words whether kafkabal or the system found it; other faults are in the system's words."""
    assert system_fault(OSError(code, os.strerror(code))) == shown
