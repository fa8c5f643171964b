"""What can be typed as the value of an option or argument, by its choices, its name or its metavar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from kafkabal.cli.framework.command_table import COMMANDS
from kafkabal.config import PRESETS
from kafkabal.reporting.help_pages import page_names
from kafkabal.routing import BUILT_IN as POLICIES
from kafkabal.scoring import BUILT_IN as SCORES
from kafkabal.simulator import PROFILES as STORAGES
from kafkabal.simulator import workload_names
from kafkabal.sources import RowFormat


class ValueSource(StrEnum):
    """Where words for completion come from; from TOPICS on, ``kafkabal completion candidates`` is asked for them."""

    NOTHING = "nothing"
    WORDS = "words"
    FILES = "files"
    TOPICS = "topics"
    BROKERS = "brokers"
    PROFILES = "profiles"
    SANDBOXES = "sandboxes"
    NODES = "nodes"
    PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class Values:
    """Words to offer."""

    source: ValueSource = ValueSource.NOTHING
    words: tuple[str, ...] = ()
    is_list: bool = False
    """Several may be given, with commas between."""

    @property
    def is_dynamic(self) -> bool:
        """Whether they are known only when the shell asks."""
        return self.source not in (ValueSource.NOTHING, ValueSource.WORDS, ValueSource.FILES)


_FILES: Final = Values(ValueSource.FILES)
_BY_METAVAR: Final[Mapping[str, Values]] = {
    "FILE": _FILES,
    "FILE.jar": _FILES,
    "DIR": _FILES,
    "DIR|FILE": _FILES,
    "FIRST": _FILES,
    "SECOND": _FILES,
    "PATH": _FILES,
    "PLAN": _FILES,
    "SOURCE": _FILES,
    "TOPIC": Values(ValueSource.TOPICS),
    "PATTERN": Values(ValueSource.TOPICS),
    "TOPIC-PARTITION": Values(ValueSource.PARTITIONS),
    "ID": Values(ValueSource.BROKERS),
    "NODE": Values(ValueSource.NODES),
    "NAME[:OPTION=VALUE,...]": Values(ValueSource.WORDS, tuple(POLICIES)),
}
_BY_FLAG: Final[Mapping[str, Values]] = {
    "--profile": Values(ValueSource.PROFILES),
    "--preset": Values(ValueSource.WORDS, tuple(PRESETS)),
    "--score": Values(ValueSource.WORDS, tuple(SCORES)),
    "--workload": Values(ValueSource.WORDS, tuple(workload_names())),
    "--storage": Values(ValueSource.WORDS, (*STORAGES, "all")),
    "--placement": Values(ValueSource.WORDS, ("score", "even", "brokers+2", "binomial:0.5")),
    "--format": Values(ValueSource.WORDS, tuple(form.value for form in RowFormat)),
    "--count-capacity": Values(ValueSource.WORDS, ("equal", "disk")),
    "--throttle": Values(ValueSource.WORDS, ("auto", "none")),
}
_BY_COMMAND: Final[Mapping[tuple[str, str], Values]] = {
    ("sandbox", "--name"): Values(ValueSource.SANDBOXES),
    ("profiles", "name"): Values(ValueSource.PROFILES),
    ("profiles", "names"): Values(ValueSource.PROFILES),
    ("demo", "--name"): Values(ValueSource.SANDBOXES),
    ("help", "topic"): Values(ValueSource.WORDS, tuple(dict.fromkeys((*COMMANDS, *page_names())))),
    ("policies", "names"): Values(ValueSource.WORDS, tuple(POLICIES)),
    ("scores", "names"): Values(ValueSource.WORDS, tuple(SCORES)),
}


def values_of(parameter: Any, metavar: str, command: str) -> Values:
    """What an option or argument takes: its choices, else what its name or its metavar stands for.

    Parameters
    ----------
    command
        First word after the program's: ``sandbox`` for all commands of that group.
    """
    descriptor = parameter.type_descriptor
    if descriptor.is_choice:
        return Values(ValueSource.WORDS, tuple(str(getattr(c, "value", c)) for c in descriptor.choices or ()))
    name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.name
    known = _BY_COMMAND.get((command, name)) or _BY_FLAG.get(name)
    if known:
        return known
    bare = metavar.removeprefix("[").split("...")[0].removesuffix("[,").removesuffix("]")
    found = _BY_METAVAR.get(metavar) or _BY_METAVAR.get(bare, Values())
    return replace(found, is_list="[,...]" in metavar)
