"""Completable values of an option or argument, from its choices, its name or its metavar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from kafkabal.cli.framework.command_table import COMMANDS
from kafkabal.cli.framework.completion.quick_candidates import CandidateKind
from kafkabal.config import PRESETS
from kafkabal.reporting.help_pages import page_names
from kafkabal.routing import BUILT_IN as POLICIES
from kafkabal.sandbox import locked_versions
from kafkabal.scoring import BUILT_IN as SCORES
from kafkabal.simulator import PROFILES as STORAGES
from kafkabal.simulator import workload_names
from kafkabal.sources import RowFormat


class CompletionKind(StrEnum):
    """Values that a shell completes without ``kafkabal completion candidates``."""

    NOTHING = "nothing"
    WORDS = "words"
    FILES = "files"


@dataclass(frozen=True, slots=True)
class Values:
    """Words to offer."""

    kind: CompletionKind | CandidateKind = CompletionKind.NOTHING
    words: tuple[str, ...] = ()
    is_list: bool = False
    """Several may be given, separated by commas."""

    @property
    def is_dynamic(self) -> bool:
        """Whether they are only known when the shell asks."""
        return isinstance(self.kind, CandidateKind)


_FILES: Final = Values(CompletionKind.FILES)
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
    "TOPIC": Values(CandidateKind.TOPICS),
    "PATTERN": Values(CandidateKind.TOPICS),
    "TOPIC-PARTITION": Values(CandidateKind.PARTITIONS),
    "ID": Values(CandidateKind.BROKERS),
    "RUN": Values(CandidateKind.RUNS),
    "NODE": Values(CandidateKind.NODES),
    "NAME[:OPTION=VALUE,...]": Values(CompletionKind.WORDS, tuple(POLICIES)),
}
_BY_FLAG: Final[Mapping[str, Values]] = {
    "--profile": Values(CandidateKind.PROFILES),
    "--preset": Values(CompletionKind.WORDS, tuple(PRESETS)),
    "--score": Values(CompletionKind.WORDS, tuple(SCORES)),
    "--workload": Values(CompletionKind.WORDS, tuple(workload_names())),
    "--storage": Values(CompletionKind.WORDS, (*STORAGES, "all")),
    "--placement": Values(CompletionKind.WORDS, ("score", "even", "brokers+2", "binomial:0.5")),
    "--format": Values(CompletionKind.WORDS, tuple(form.value for form in RowFormat)),
    "--count-capacity": Values(CompletionKind.WORDS, ("equal", "disk")),
    "--throttle": Values(CompletionKind.WORDS, ("auto", "none")),
    "--telemetry": Values(CompletionKind.WORDS, ("topic",)),
    "--kafka-version": Values(CompletionKind.WORDS, locked_versions()),
    "--controllers": Values(CompletionKind.WORDS, ("1", "3", "5")),
}
_BY_COMMAND: Final[Mapping[tuple[str, str], Values]] = {
    ("rebalance", "rate"): Values(CompletionKind.WORDS, ("auto",)),
    ("sandbox", "--name"): Values(CandidateKind.SANDBOXES),
    ("profiles", "name"): Values(CandidateKind.PROFILES),
    ("profiles", "names"): Values(CandidateKind.PROFILES),
    ("demo", "--name"): Values(CandidateKind.SANDBOXES),
    ("help", "topic"): Values(CompletionKind.WORDS, tuple(dict.fromkeys((*COMMANDS, *page_names())))),
    ("policies", "names"): Values(CompletionKind.WORDS, tuple(POLICIES)),
    ("scores", "names"): Values(CompletionKind.WORDS, tuple(SCORES)),
}


def values_of(parameter: Any, metavar: str, command: str) -> Values:
    """Values of an option or argument: its choices, or else those implied by its name or metavar.

    Parameters
    ----------
    command
        First word after the program's: ``sandbox`` for all commands of that group.
    """
    descriptor = parameter.type_descriptor
    if descriptor.is_choice:
        return Values(CompletionKind.WORDS, tuple(str(getattr(c, "value", c)) for c in descriptor.choices or ()))
    name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.name
    known = _BY_COMMAND.get((command, name)) or _BY_FLAG.get(name)
    if known:
        return known
    bare = metavar.removeprefix("[").split("...")[0].removesuffix("[,").removesuffix("]")
    found = _BY_METAVAR.get(metavar) or _BY_METAVAR.get(bare, Values())
    return replace(found, is_list="[,...]" in metavar)
