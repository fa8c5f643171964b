"""Draws command lines: a command, some of its options, and values that are valid, nearly valid, or invalid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple

from kafkabal.cli.framework.build_typer_command import build_command
from kafkabal.cli.framework.command_table import COMMANDS, Row
from kafkabal.cli.framework.completion.option_values import CompletionKind, values_of
from kafkabal.cli.framework.completion.quick_candidates import CandidateKind
from tools.fuzz.damage import WORDS

# it writes to a real cluster
_LEFT_OUT: Final = frozenset({"demo"})
# commands that would start programs, listen, run forever or compute for long, with options that prevent it
_KEPT_SHORT: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("sandbox", "up"): ("--brokers", "0"),
    ("telemetry", "plugin"): ("--out", "no/such/folder/x.jar"),
    ("telemetry", "latency"): ("--for", "1s"),
    ("telemetry", "show"): ("--for", "1s"),
    ("watch",): ("--once",),
    ("rebalance", "simulate"): ("--days", "1"),
    ("read",): ("--for", "1s"),
    ("route-simulate",): ("--seeds", "1", "--records", "2000"),
}
# options that name files to write, or make the command run forever
_NEVER_FITTING: Final = frozenset(
    [
        *("--save", "--output-file", "--out", "--textfile", "--rollback-file", "--plot", "--to", "--cache"),
        *("--watch", "--sample", "--seeds"),
    ]
)
# options of every command
_COMMON: Final = frozenset(["--color", "--no-color", "--quiet", "--verbose"])
_ANYTHING: Final = ("", "out.jsonl", "x" * 5000, "no/such/folder", "/", "a\0b", "json", "csv", "yaml")
_FILES: Final = (
    *("p.json", "p2.json", "s.jsonl", "s2.jsonl", "prof.yaml", "topics.yaml", "w.yaml", "j.jsonl", "c.properties"),
    *("topics.txt", "dirs.txt", "assigned.json", "case.yaml", "training.yaml", "m.jsonl", "nothing"),
)
# by the metavar of the value
_FITTING: Final[Mapping[str, Sequence[str]]] = {
    "TIME": ("0s", "10s", "7d", "1h30m"),
    "PERCENT": ("0%", "9%", "0.5", "100%"),
    "SIZE": ("0", "1B", "5MB", "4TiB"),
    "RATE": ("auto", "none", "1B/s", "50MB/s"),
    "N": ("0", "1", "2", "3", "10"),
    "COUNT": ("0", "1", "5"),
    "PRICE": ("0", "0.02"),
    "ID:REPLICAS[:SIZE]": ("1:0", "3:4000:2TiB"),
    "KEY=VALUE": ("retention.ms=1000", "tolerance=5%", "cleanup.policy=compact"),
    "NAME=VALUE": ("linger.ms=5",),
    "ID:KEY=VALUE": ("1:log.dirs=/x",),
    "KEY=PATTERN": ("client_id=x.*",),
    "URL": ("http://127.0.0.1:1/alerts", "https://[::1]:1"),
    "HOST:PORT": ("127.0.0.1:1",),
    "HOST:PORT[,...]": ("127.0.0.1:1,127.0.0.1:2",),
    "01:00-05:00": ("01:00-05:00", "23:00-01:00"),
    "add=ID:RACK:SIZE": ("add=7:r1:4TiB", "add=9", "remove=1"),
    "GLOB": ("*.jpg", "**/a"),
    "FIELD": ("path", "label", "user"),
    "FORMAT": ("jsonl", "text", "csv", "parquet", "arrow", "tfrecord", "webdataset"),
    "DIR": (".", "state", "new"),
    "COMMAND": ("inspect", "rebalance", "watch", "produce"),
    "RUN": ("20260101T000000-abc", "latest"),
    "KIND": ("topics", "brokers", "profiles", "nodes", "partitions"),
    "SHELL": ("bash", "zsh", "fish"),
    "FIRST": ("s.jsonl", "p.json"),
    "SECOND": ("s2.jsonl", "p2.json"),
}
_BY_KIND: Final[Mapping[CompletionKind | CandidateKind, Sequence[str]]] = {
    CompletionKind.FILES: _FILES,
    CandidateKind.TOPICS: ("t", "u", "t*", "[tu]", "new"),
    CandidateKind.BROKERS: ("1", "2", "4", "9"),
    CandidateKind.PROFILES: ("prod", "cold", "far", "c*", "prof.yaml#prod"),
    CandidateKind.SANDBOXES: ("default", "other"),
    CandidateKind.NODES: ("1", "9"),
    CandidateKind.PARTITIONS: ("t-0", "u-0", "t-99"),
}


class _Parameter(NamedTuple):
    flag: str
    """Empty for an argument."""
    takes_value: bool
    fitting: Sequence[str]


class _Command(NamedTuple):
    path: tuple[str, ...]
    options: Sequence[_Parameter]
    arguments: Sequence[_Parameter]

    def has(self, flag: str) -> bool:
        """Whether it has an option."""
        return any(option.flag == flag for option in self.options)


def drawn_words(rng: Random) -> tuple[str, ...]:
    """Draw a command line."""
    command = rng.choice(_commands())
    words = [*command.path, *_arguments(command, rng)]
    if command.has("--snapshot") and rng.random() < 0.8:
        words += ["--snapshot", "s.jsonl" if rng.random() < 0.9 else "empty.jsonl"]
    elif command.has("--bootstrap-server"):
        words += ["-b", "127.0.0.1:1"]
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        if not command.options or rng.random() < 0.05:
            words.append(rng.choice(WORDS))
            continue
        option = rng.choice(command.options)
        if option.flag in _COMMON and rng.random() < 0.8:
            continue
        words.append(option.flag)
        if option.takes_value:
            words.append(_value(option, rng))
    return (*words, *_KEPT_SHORT.get(command.path, ()))


def _arguments(command: _Command, rng: Random) -> Iterator[str]:
    # a sandbox must be neither signalled nor started
    if command.path[0] == "sandbox" or rng.random() < 0.1:
        return
    for argument in command.arguments:
        yield _value(argument, rng)


def _value(parameter: _Parameter, rng: Random) -> str:
    if parameter.flag in _NEVER_FITTING:
        return rng.choice(_ANYTHING)
    if parameter.fitting and rng.random() < 0.6:
        return rng.choice(parameter.fitting)
    return rng.choice(_FILES) if rng.random() < 0.15 else rng.choice(WORDS)


@cache
def _commands() -> Sequence[_Command]:
    return tuple(_walk(COMMANDS, ()))


def _walk(rows: Mapping[str, Row], path: tuple[str, ...]) -> Iterator[_Command]:
    for name, row in rows.items():
        if not path and name in _LEFT_OUT:
            continue
        here = (*path, name)
        if row.function:
            parameters: Sequence[Any] = build_command(name, row).params
            options = [p for p in parameters if p.param_type_name == "option"]
            arguments = [p for p in parameters if p.param_type_name == "argument"]
            yield _Command(here, [_option(p, here) for p in options], [_argument(p, here) for p in arguments])
        yield from _walk(row.commands or {}, here)


def _option(parameter: Any, path: tuple[str, ...]) -> _Parameter:
    takes_value = not (parameter.is_flag or parameter.count)
    return _Parameter(parameter.opts[-1], takes_value, _fitting(parameter, path) if takes_value else ())


def _argument(parameter: Any, path: tuple[str, ...]) -> _Parameter:
    return _Parameter("", True, _fitting(parameter, path))


def _fitting(parameter: Any, path: tuple[str, ...]) -> Sequence[str]:
    metavar = str(parameter.metavar or "")
    values = values_of(parameter, metavar, path[0])
    bare = metavar.removeprefix("[").split("...")[0].removesuffix("]")
    return values.words or _FITTING.get(metavar) or _FITTING.get(bare) or _BY_KIND.get(values.kind, ())
