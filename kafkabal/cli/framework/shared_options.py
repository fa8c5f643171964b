"""Options that several commands share, so that each is named, explained and read in one way.

A *setting* is what can also stand in a profile (:mod:`kafkabal.config.settings`). A command that uses some takes one
parameter of type :class:`~kafkabal.config.settings.Settings` and names them::

    settings: Annotated[Settings, Uses(*CLUSTER, "scores", "tolerance")]

Everything else that is shared is a group: a dataclass whose fields are ordinary typer options, taken as one
parameter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from kafkabal.files import check_replaceable

CLUSTER_SECTION = "Cluster"
OUTPUT_SECTION = "Output"
SCOPE_SECTION = "Scope"
SAFETY_SECTION = "Limits"


class SettingOption(NamedTuple):
    """What help says of a setting; its flag stands in :mod:`kafkabal.config.settings`."""

    help: str
    metavar: str = ""
    """Empty for a flag without a value."""
    section: str = "Options"
    short_flag: str = ""
    repeated: bool = False


CLUSTER: Final = ("bootstrap_servers", "command_config", "profile", "snapshot", "zookeeper", "broker_timeout")
"""The settings of a command that reads a cluster; without any, the current sandbox is meant."""

SETTINGS: Final[Mapping[str, SettingOption]] = {
    "bootstrap_servers": SettingOption("Brokers to ask first.", "HOST:PORT[,...]", CLUSTER_SECTION, "-b"),
    "bootstrap_controllers": SettingOption(
        "KRaft controllers, for the configs of dead brokers.", "HOST:PORT[,...]", CLUSTER_SECTION
    ),
    "command_config": SettingOption("client.properties, as for Kafka's own tools.", "FILE", CLUSTER_SECTION),
    "profile": SettingOption("Profile to use: a name, FILE or FILE#NAME.", "NAME", CLUSTER_SECTION),
    "snapshot": SettingOption("A saved snapshot in place of a live cluster.", "FILE", CLUSTER_SECTION),
    "zookeeper": SettingOption("ZooKeeper of a cluster of Kafka 3.9 or older.", "HOST:PORT[/PATH]", CLUSTER_SECTION),
    "broker_timeout": SettingOption("How long each broker may take. [default: 10s]", "TIME", CLUSTER_SECTION),
    "scores": SettingOption(
        "Score to go by: a name of 'kafkabal scores' or package.module:object; may be repeated.",
        "NAME[=WEIGHT]",
        repeated=True,
    ),
    "tolerance": SettingOption("How far from the fair share is still even, as 9% or 0.09.", "SHARE"),
    "count_capacity": SettingOption("Replicas and leaders a broker: 'equal', or in proportion to its 'disk'.", "HOW"),
    "throttle": SettingOption(
        "Most bytes a second that a broker sends or takes, 'auto' or 'none'. [default: auto]", "RATE", SAFETY_SECTION
    ),
    "log_dir_throttle": SettingOption("The same between log dirs of one broker.", "RATE", SAFETY_SECTION),
    "window": SettingOption("Time of day in which data may move.", "01:00-05:00", SAFETY_SECTION),
    "max_bytes": SettingOption("Most bytes to move between brokers.", "SIZE", SAFETY_SECTION),
    "max_moves": SettingOption("Most replicas to move.", "COUNT", SAFETY_SECTION),
    "max_leader_changes": SettingOption(
        "Most leaders to change; followers move in their place.", "COUNT", SAFETY_SECTION
    ),
    "max_duration": SettingOption("Longest time that moving may take at the throttle.", "TIME", SAFETY_SECTION),
    "topics": SettingOption("Only topics of this pattern; may be repeated.", "PATTERN", SCOPE_SECTION, repeated=True),
    "exclude_topics": SettingOption(
        "Leave topics of this pattern alone; may be repeated.", "PATTERN", SCOPE_SECTION, repeated=True
    ),
    "exclude_brokers": SettingOption("Brokers that take nothing.", "ID[,...]", SCOPE_SECTION),
    "include_internal": SettingOption("Internal topics too.", section=SCOPE_SECTION),
}


class Uses:
    """The settings that a command takes as options, by their keys in a profile."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys


class Format(StrEnum):
    """How a result is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"
    PROMETHEUS = "prometheus"


class Forms:
    """The forms of output of a command that has not all: ``Annotated[OutputOptions, Forms("table", "json")]``.

    It offers only forms that its report can always be written in: others would be refused when all is done.
    """

    def __init__(self, *names: str) -> None:
        self.names = tuple(Format(name).value for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where the result goes, and in which form."""

    output: Annotated[
        Format, typer.Option("-o", "--output", help="Form of the result.", rich_help_panel=OUTPUT_SECTION)
    ] = Format.TABLE
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--output-file",
            metavar="FILE",
            parser=check_replaceable,
            help="Write the result there, whole or not at all.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Options of every command; the framework adds them and acts on them."""

    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Only results and errors.", rich_help_panel=OUTPUT_SECTION)
    ] = False
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            show_default=False,
            help="Tell more; -vv also what the libraries say.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = 0
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No colour, even on a terminal.", rich_help_panel=OUTPUT_SECTION)
    ] = False
