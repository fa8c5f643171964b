"""What can be typed where an option wants a value, told by its choices or its metavar."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from kafkabal.routing.registry import BUILT_IN as POLICIES
from kafkabal.scoring.registry import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Mapping


class Source(StrEnum):
    """Where words for completion come from."""

    NOTHING = "nothing"
    WORDS = "words"
    FILES = "files"
    TOPICS = "topics"
    BROKERS = "brokers"


@dataclass(frozen=True, slots=True)
class Values:
    """Words to offer."""

    source: Source = Source.NOTHING
    words: tuple[str, ...] = ()


_BY_METAVAR: Final[Mapping[str, Values]] = {
    "FILE": Values(Source.FILES),
    "DIR": Values(Source.FILES),
    "PATH": Values(Source.FILES),
    "TOPIC": Values(Source.TOPICS),
    "PATTERN": Values(Source.TOPICS),
    "ID": Values(Source.BROKERS),
    "NAME[=WEIGHT]": Values(Source.WORDS, tuple(BUILT_IN)),
    "NAME[:OPTION=VALUE,...]": Values(Source.WORDS, tuple(POLICIES)),
}


def values_of(parameter: Any, metavar: str) -> Values:
    """What an option or argument takes: its choices, else what its metavar stands for."""
    descriptor = parameter.type_descriptor
    if descriptor.is_choice:
        return Values(Source.WORDS, tuple(str(getattr(c, "value", c)) for c in descriptor.choices or ()))
    bare = metavar.removeprefix("[").split("...")[0].removesuffix("[,").removesuffix("]")
    return _BY_METAVAR.get(metavar) or _BY_METAVAR.get(bare, Values())
