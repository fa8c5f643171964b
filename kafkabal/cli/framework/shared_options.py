"""Options shared by several commands, so that each has one name, one help text and one parser.

A *setting* can also be in a profile (:mod:`kafkabal.config.settings`). A command that uses settings takes one parameter
of type :class:`~kafkabal.config.settings.Settings` and lists them::

    settings: Annotated[Settings, Uses(*CLUSTER, "scores", "tolerance")]

All other shared options are in groups: a group is a dataclass whose fields are ordinary typer options, taken as one
parameter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from kafkabal.atomic_files import check_replaceable
from kafkabal.cli.framework.command_context import Colour
from kafkabal.config import LEAST_REFRESH_S, MOST_REFRESH_S
from kafkabal.errors import UsageError
from kafkabal.units import parse_duration

CLUSTER_SECTION = "Cluster"
OUTPUT_SECTION = "Output"
SCOPE_SECTION = "Scope"
LIMITS_SECTION = "Limits"
EXECUTION_SECTION = "Execution"
SETTINGS_SECTIONS: Final = (EXECUTION_SECTION, SCOPE_SECTION, LIMITS_SECTION)
"""They begin with settings; the other sections of a command begin with its own options."""


class SettingOption(NamedTuple):
    """The help of a setting; its flag is in :mod:`kafkabal.config.settings`."""

    help: str
    metavar: str = ""
    """Empty for a flag without a value."""
    section: str = "Options"
    short_flag: str = ""
    repeated: bool = False
    setting: str = ""
    """For another form of the same flag: the key of the setting; empty if it is this option's own."""


CLUSTER: Final = ("bootstrap_servers", "command_config", "profile", "snapshot", "zookeeper", "broker_timeout")
"""The settings of a command that reads a cluster; if none is given, the current sandbox is used."""

LIVE_CLUSTER: Final = tuple(key for key in CLUSTER if key != "snapshot")
"""The settings of a command that requires a live cluster."""

SEVERAL_CLUSTERS: Final = (*(key for key in CLUSTER if key != "profile"), "profiles", "all_profiles")
"""The settings of a command that reads one cluster or several, see
:class:`~kafkabal.cli.framework.chosen_clusters.ChosenClusters`."""

SETTINGS: Final[Mapping[str, SettingOption]] = {
    # in the order of the help
    "bootstrap_servers": SettingOption("Bootstrap brokers.", "HOST:PORT[,...]", CLUSTER_SECTION, "-b"),
    "command_config": SettingOption("client.properties file, as for Kafka's own tools.", "FILE", CLUSTER_SECTION),
    "profile": SettingOption("Profile to use: a name, FILE or FILE#NAME.", "NAME", CLUSTER_SECTION),
    "profiles": SettingOption(
        "Profile to use: a name, a pattern such as 'prod-*', FILE or FILE#NAME. Repeat for several clusters.",
        "NAME",
        CLUSTER_SECTION,
        repeated=True,
    ),
    "all_profiles": SettingOption("Read the clusters of all profiles.", section=CLUSTER_SECTION),
    "data_sets": SettingOption(
        "With several clusters: show where matching topics are, and how far mirrors lag behind. Repeatable.",
        "PATTERN",
        repeated=True,
    ),
    "snapshot": SettingOption("Use a saved snapshot instead of a live cluster.", "FILE", CLUSTER_SECTION),
    "zookeeper": SettingOption("ZooKeeper servers, for Kafka 3.9 and older.", "HOST:PORT[/PATH]", CLUSTER_SECTION),
    "broker_timeout": SettingOption("Timeout per broker request. [default: 10s]", "TIME", CLUSTER_SECTION),
    "bootstrap_controllers": SettingOption(
        "KRaft controllers; needed to change configs of dead brokers.", "HOST:PORT[,...]", CLUSTER_SECTION
    ),
    "scores": SettingOption(
        "Score to balance by (see 'kafkabal scores'), or package.module:object. Repeatable.",
        "NAME[=WEIGHT]",
        repeated=True,
    ),
    "shown_scores": SettingOption(
        "Score to show (see 'kafkabal scores'), or package.module:object. Repeatable.",
        "NAME",
        repeated=True,
        setting="scores",
    ),
    "routed_scores": SettingOption(
        "Score to balance by (see 'kafkabal scores'), or package.module:object. Repeatable. [default: disk]",
        "NAME[=WEIGHT]",
        repeated=True,
        setting="scores",
    ),
    "tolerance": SettingOption("Allowed deviation from the fair share. [default: 9%]", "PERCENT"),
    "shown_tolerance": SettingOption(
        "Allowed deviation from the fair share. [default: 10%]", "PERCENT", setting="tolerance"
    ),
    "count_capacity": SettingOption(
        "Target replica and leader counts per broker: 'equal', or proportional to 'disk'. [default: equal]", "HOW"
    ),
    "max_bytes": SettingOption("Maximum bytes to move between brokers.", "SIZE", LIMITS_SECTION),
    "max_moves": SettingOption("Maximum replicas to move.", "COUNT", LIMITS_SECTION),
    "max_leader_changes": SettingOption("Maximum leader changes; followers move instead.", "COUNT", LIMITS_SECTION),
    "max_duration": SettingOption("Maximum duration of the moves at the throttle.", "TIME", LIMITS_SECTION),
    "dead_after": SettingOption(
        "How long a broker must have been dead before its replicas are copied elsewhere; 0: now. [default: 10m]",
        "TIME",
        LIMITS_SECTION,
    ),
    "throttle": SettingOption(
        "Replication throttle per broker: a rate, 'auto' or 'none'. [default: auto]", "RATE", EXECUTION_SECTION
    ),
    "throttle_of_run": SettingOption(
        "Replication throttle per broker: a rate, 'auto' or 'none'. [default: that of the run]",
        "RATE",
        EXECUTION_SECTION,
        setting="throttle",
    ),
    "throttle_to_add": SettingOption(
        "Replication throttle per broker: a rate, 'auto' or 'none'. [default: none]",
        "RATE",
        EXECUTION_SECTION,
        setting="throttle",
    ),
    "predicted_throttle": SettingOption(
        "Throttle per broker, to predict how long copies take.", "RATE", LIMITS_SECTION, setting="throttle"
    ),
    "log_dir_throttle": SettingOption(
        "Throttle for moves between log dirs of one broker. [default: as --throttle]",
        "RATE",
        EXECUTION_SECTION,
    ),
    "window": SettingOption("Only move data in this time window, local time.", "01:00-05:00", EXECUTION_SECTION),
    "topics": SettingOption(
        "Only topics that match this glob pattern. Repeatable.", "PATTERN[,...]", SCOPE_SECTION, repeated=True
    ),
    "exclude_topics": SettingOption(
        "Do not move topics that match this glob pattern. Repeatable.", "PATTERN[,...]", SCOPE_SECTION, repeated=True
    ),
    "exclude_brokers": SettingOption("Brokers that receive no replicas or leaders.", "ID[,...]", SCOPE_SECTION),
    "include_internal": SettingOption("Also balance internal topics.", section=SCOPE_SECTION),
}


_NOT_OF_ONE: Final = ("profiles", "all_profiles", "data_sets")
ONE_CLUSTER: Final = tuple(key for key, option in SETTINGS.items() if key not in _NOT_OF_ONE and not option.setting)
"""All settings, for a command on one cluster."""


_PLACES: Final = {key: place for place, key in enumerate(SETTINGS)}


class Uses:
    """The settings that a command takes as options, by their keys in a profile; help lists them in a fixed order.

    Parameters
    ----------
    may_need_no_cluster
        See :func:`~kafkabal.cli.framework.command_settings.command_settings`.
    """

    def __init__(self, *keys: str, may_need_no_cluster: bool = False) -> None:
        self.keys = tuple(sorted(keys, key=_PLACES.__getitem__))
        self.may_need_no_cluster = may_need_no_cluster


class Format(StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"
    PROMETHEUS = "prometheus"


class Forms:
    """The output formats of a command that does not support all: ``Annotated[OutputOptions, Forms("table", "json")]``.

    It offers only formats that its report always supports: others would only be refused after all work is done.
    """

    def __init__(self, *names: str) -> None:
        self.names = tuple(Format(name).value for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where the result goes, and in which format."""

    output: Annotated[
        Format,
        typer.Option(
            "-o",
            "--output",
            metavar="FORMAT",
            help=f"Output format: {', '.join(Format)}.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = Format.TABLE
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--output-file",
            metavar="FILE",
            parser=check_replaceable,
            help="Write the output to FILE atomically; - is standard output.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveOptions:
    """File for a changed snapshot."""

    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            parser=check_replaceable,
            help="With --snapshot: write the changed snapshot to FILE; - is standard output.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = None


def parse_interval(text: str) -> float:
    """Seconds between two readings of a cluster, the value of ``--refresh`` and ``--every``."""
    interval_s = parse_duration(text)
    if interval_s < LEAST_REFRESH_S:
        raise UsageError(f"interval too short: {text!r}", hint="the minimum is 100ms")
    if interval_s > MOST_REFRESH_S:
        raise UsageError(f"interval too long: {text!r}", hint="the maximum is 1d")
    return interval_s


def _notify_url(text: str) -> str:
    from kafkabal.reporting.notifications.notifier import check_url  # only where it is given

    return check_url(text)


NotifyOption = Annotated[
    str | None,
    typer.Option(
        "--notify",
        metavar="URL",
        parser=_notify_url,
        help="Post every event to Alertmanager (/api/v2/alerts), Slack or a webhook.",
        rich_help_panel=OUTPUT_SECTION,
    ),
]

TextfileOption = Annotated[
    Path | None,
    typer.Option(
        "--textfile",
        metavar="FILE",
        parser=check_replaceable,
        help="Write metrics to a Prometheus textfile, and keep it up to date.",
        rich_help_panel=OUTPUT_SECTION,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOutput(OutputOptions):
    """Where the result of a transfer and its progress are written."""

    textfile: TextfileOption = None


OverwriteOption = Annotated[
    bool, typer.Option("--yes", help="Do not prompt where --save overwrites the snapshot that is read.")
]

YesOption = Annotated[bool, typer.Option("--yes", help="Do not prompt; required without a terminal.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """Options of every command; the framework adds and handles them."""

    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Show only results and errors.", rich_help_panel=OUTPUT_SECTION)
    ] = False
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            show_default=False,
            help="Verbose output; -vv adds library logs.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = 0
    color: Annotated[
        Colour,
        typer.Option(
            "--color",
            help="Colour the output: 'auto' colours on a terminal, unless NO_COLOR or FORCE_COLOR is set.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = Colour.AUTO
    no_color: Annotated[
        bool, typer.Option("--no-color", help="The same as --color never.", rich_help_panel=OUTPUT_SECTION)
    ] = False

    @property
    def chosen_colour(self) -> Colour:
        """When output is coloured; ``--no-color`` overrides the default.

        Raises
        ------
        UsageError
            If both are given and differ.
        """
        if self.no_color and self.color is Colour.ALWAYS:
            raise UsageError("--no-color and --color always cannot be combined")
        return Colour.NEVER if self.no_color and self.color is Colour.AUTO else self.color
