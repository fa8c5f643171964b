"""Faults of JSON documents in plain words, without a library's types."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest

from kafkabal.decoding_faults import decoding_fault, json_fault


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    size: Annotated[int, msgspec.Meta(ge=0, le=9)]
    names: list[str] = []
    kind: Literal["a", "b"] = "a"
    share: float | None = None
    pair: tuple[int, int] = (1, 2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b'{"size":"a"}', "size: expected a whole number, not text"),
        (b'{"size":1,"names":[7]}', "names[0]: expected text, not a whole number"),
        (b'{"size":1,"share":"x"}', "share: expected a number or null, not text"),
        (b'{"size":1,"pair":[1]}', "pair: expected a list of length 2"),
        (b'{"size":-1}', "size: must be at least 0"),
        (b'{"size":10}', "size: must be at most 9"),
        (b'{"size":1,"kind":"c"}', "kind: invalid value: 'c'"),
        (b'{"size":1,"share":1e400}', "share: number out of range"),
        (b"{}", "missing key: size"),
        (b'{"size":1,"sise":2}', "unknown key: sise"),
        (b"[]", "expected an object, not a list"),
        (b'{"size":1,}', "invalid JSON: trailing comma in object (byte 10)"),
        (b'{"size"', "invalid JSON: it ends too early"),
    ],
)
def test_words(text: bytes, fault: str) -> None:
    """Every kind of fault names its key and says what was expected, in English."""
    with pytest.raises(msgspec.MsgspecError) as caught:
        msgspec.json.decode(text, type=_Row)
    assert decoding_fault(caught.value) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (rb'{"a":"\ud800x"}', r"invalid JSON: half of a surrogate pair (\ud800 to \udfff)"),
        (rb'{"a":"\ud800', "invalid JSON: it ends too early"),
        (rb'{"a":"\ud800 and much more"}', "invalid JSON: unexpected end of escaped utf-16 surrogate pair (byte 12)"),
        (b"[" * 10_000, "nested too deeply"),
    ],
)
def test_half_of_a_pair_is_not_the_end(text: bytes, fault: str) -> None:
    """A document that is complete is not said to end too early because msgspec looks beyond its end for the other
    half."""
    with pytest.raises((ValueError, RecursionError)) as caught:
        msgspec.json.decode(text)
    assert json_fault(caught.value, text) == fault
