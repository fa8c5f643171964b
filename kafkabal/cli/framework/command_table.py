"""The commands by name, each with the location of its function and its summary; importing none of them.

A row is added together with its module. The help is the first line of the function's docstring, which a test checks; it
is repeated here so that ``kafkabal --help`` need not import every command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(NamedTuple):
    """A command, or a group of commands, which may also do something on its own."""

    help: str
    function: str = ""
    """``module:function``; empty for a group that does nothing on its own."""
    commands: Mapping[str, Row] | None = None
    """The commands of a group."""
    section: str = "Commands"
    """The heading for it in the help of its group; commands of one section are adjacent."""


COMMANDS: Final[Mapping[str, Row]] = {
    "inspect": Row(
        "Show load imbalance, worst first.",
        "kafkabal.cli.commands.inspect:inspect",
        commands={
            "diff": Row(
                "Show what differs between two snapshots.", "kafkabal.cli.commands.import_and_diff_snapshots:diff"
            ),
        },
        section="Balance",
    ),
    "rebalance": Row(
        "Rebalance partitions across brokers, under a throttle.",
        "kafkabal.cli.commands.rebalance.plan_and_apply:rebalance",
        commands={
            "plan": Row("Make a plan; change nothing.", "kafkabal.cli.commands.rebalance.plan:plan", section="Plan"),
            "show": Row(
                "Show what a plan file moves, partition by partition.",
                "kafkabal.cli.commands.rebalance.show_and_diff:show",
                section="Plan",
            ),
            "diff": Row(
                "Show how two plans differ, partition by partition.",
                "kafkabal.cli.commands.rebalance.show_and_diff:diff",
                section="Plan",
            ),
            "explain": Row(
                "Explain why a plan moves a partition, or why it does not move one to a broker.",
                "kafkabal.cli.commands.rebalance.explain:explain",
                section="Plan",
            ),
            "apply": Row("Apply a plan file.", "kafkabal.cli.commands.rebalance.apply:apply", section="Plan"),
            "simulate": Row(
                "Simulate 'kafkabal watch' on this cluster for months: growth, noise, failures and new brokers.",
                "kafkabal.cli.commands.rebalance.simulate_watch:simulate",
                section="Plan",
            ),
            "status": Row(
                "Show the status of the latest run.", "kafkabal.cli.commands.rebalance.status:status", section="Runs"
            ),
            "pause": Row(
                "Pause the active run, from any host.", "kafkabal.cli.commands.rebalance.pause:pause", section="Runs"
            ),
            "resume": Row(
                "Resume the latest interrupted or paused run.",
                "kafkabal.cli.commands.rebalance.resume:resume",
                section="Runs",
            ),
            "cancel": Row(
                "Cancel the latest run's reassignments in flight and restore its throttles.",
                "kafkabal.cli.commands.rebalance.cancel:cancel",
                section="Runs",
            ),
            "rollback": Row("Roll back a run.", "kafkabal.cli.commands.rebalance.rollback:rollback", section="Runs"),
            "throttle": Row(
                "Change the throttle of the active run, from any host.",
                "kafkabal.cli.commands.rebalance.throttle:throttle",
                section="Runs",
            ),
            "history": Row(
                "List earlier runs, from the cluster's record and this host's journals.",
                "kafkabal.cli.commands.rebalance.history:history",
                section="Runs",
            ),
            "repair": Row(
                "Restore throttles that earlier runs left; list those of unknown origin.",
                "kafkabal.cli.commands.rebalance.repair:repair",
                section="Clean up",
            ),
            "adopt": Row(
                "List, throttle, finish or cancel reassignments of another tool.",
                "kafkabal.cli.commands.rebalance.adopt:adopt",
                section="Clean up",
            ),
        },
        section="Balance",
    ),
    "create": Row(
        "Create topics on the least loaded brokers.", "kafkabal.cli.commands.create:create", section="Balance"
    ),
    "advise": Row(
        "Advise how many brokers suffice, and how to free a full disk.",
        "kafkabal.cli.commands.advise:advise",
        section="Balance",
    ),
    "produce": Row(
        "Produce files or rows to the least loaded brokers.",
        "kafkabal.cli.commands.produce:produce",
        section="Produce and read",
    ),
    "read": Row(
        "Read a topic: measure the rate, restore its files, or follow it.",
        "kafkabal.cli.commands.read:read",
        section="Produce and read",
    ),
    "route-simulate": Row(
        "Simulate how routing policies would distribute a workload.",
        "kafkabal.cli.commands.route_simulate:route_simulate",
        section="Produce and read",
    ),
    "route": Row(
        "Show routing weights, and publish them for Java producers.",
        "kafkabal.cli.commands.route:route",
        section="Produce and read",
    ),
    "routing": Row(
        "Build the partitioner for Java producers.",
        commands={
            "plugin": Row(
                "Build the partitioner for Java producers, which follows published weights.",
                "kafkabal.cli.commands.routing_plugin:plugin",
            ),
        },
        section="Produce and read",
    ),
    "watch": Row(
        "Detect slow and dead brokers and imbalance; heal what --heal allows.",
        "kafkabal.cli.commands.watch:watch",
        section="Monitor",
    ),
    "top": Row(
        "Show brokers, moves and events in a live view.",
        "kafkabal.cli.commands.top:top",
        section="Monitor",
    ),
    "monitoring": Row(
        "Write monitoring files for Prometheus and Grafana.",
        "kafkabal.cli.commands.monitoring:monitoring",
        section="Monitor",
    ),
    "telemetry": Row(
        "Collect client metrics for latency-aware routing (KIP-714).",
        commands={
            "subscribe": Row("Make clients push metrics to the brokers.", "kafkabal.cli.commands.telemetry:subscribe"),
            "list": Row(
                "List subscriptions: which clients push which metrics, and how often.",
                "kafkabal.cli.commands.telemetry:list_subscriptions",
            ),
            "remove": Row(
                "Remove subscriptions; metrics already forwarded expire by retention.",
                "kafkabal.cli.commands.telemetry:remove",
            ),
            "plugin": Row(
                "Build the broker plug-in that forwards client metrics to a topic.",
                "kafkabal.cli.commands.telemetry:plugin",
            ),
            "show": Row(
                "Show the metrics that clients push, with their latest values.",
                "kafkabal.cli.commands.telemetry:show_metrics",
            ),
            "errors": Row(
                "Show the records that producers could not write, by topic.",
                "kafkabal.cli.commands.telemetry:errors",
            ),
            "latency": Row(
                "Show the produce latency of each broker, as measured by clients.",
                "kafkabal.cli.commands.telemetry:latency",
            ),
        },
        section="Monitor",
    ),
    "doctor": Row(
        "Check whether kafkabal can work on a cluster, and change nothing.",
        "kafkabal.cli.commands.doctor:doctor",
        section="Set up",
    ),
    "profiles": Row(
        "List, show, check and add the profiles of clusters.",
        commands={
            "list": Row(
                "List profiles: which cluster each names, and which one is in use.",
                "kafkabal.cli.commands.profiles:list_profiles",
            ),
            "show": Row(
                "Show the settings of a profile and of its client.properties; secrets are never shown.",
                "kafkabal.cli.commands.profiles:show",
            ),
            "use": Row("Use a profile by default.", "kafkabal.cli.commands.profiles:use"),
            "check": Row(
                "Connect to the clusters of profiles, all at once, and show which respond.",
                "kafkabal.cli.commands.profiles:check",
            ),
            "add": Row("Add a profile.", "kafkabal.cli.commands.profiles:add"),
        },
        section="Set up",
    ),
    "config": Row(
        "Show the settings in force, and where each comes from.",
        commands={
            "show": Row(
                "Show all settings that are set, with their values and where they come from.",
                "kafkabal.cli.commands.config:show",
            ),
        },
        section="Set up",
    ),
    "completion": Row(
        "Set up shell completion for bash, zsh and fish.",
        commands={
            "install": Row("Install completion for your shell.", "kafkabal.cli.commands.completion:install"),
            "bash": Row("Print the completion script for bash.", "kafkabal.cli.commands.completion:bash"),
            "zsh": Row("Print the completion script for zsh.", "kafkabal.cli.commands.completion:zsh"),
            "fish": Row("Print the completion script for fish.", "kafkabal.cli.commands.completion:fish"),
            "candidates": Row(
                "Print the names that a shell can offer, one per line.",
                "kafkabal.cli.commands.completion:candidates",
            ),
        },
        section="Set up",
    ),
    "scores": Row(
        "List scores: what each measures and needs.",
        "kafkabal.cli.commands.scores:scores",
        section="Look up",
    ),
    "policies": Row(
        "List routing policies: how each decides and what it needs.",
        "kafkabal.cli.commands.policies:policies",
        section="Look up",
    ),
    "snapshot": Row(
        "Import snapshots from the output of Kafka's own tools.",
        commands={
            "import": Row(
                "Import a snapshot from the output of Kafka's own tools.",
                "kafkabal.cli.commands.import_and_diff_snapshots:import_snapshot",
            ),
        },
        section="Look up",
    ),
    "help": Row(
        "Show the help of a command, or a page of the documentation.",
        "kafkabal.cli.commands.help:help_",
        section="Look up",
    ),
    "sandbox": Row(
        "Run a real Apache Kafka cluster on this machine.",
        commands={
            "up": Row("Start a cluster, or the stopped nodes of one.", "kafkabal.cli.commands.sandbox:up"),
            "status": Row("Show node status and why a node exited.", "kafkabal.cli.commands.sandbox:status"),
            "logs": Row("Show the last log lines of a node.", "kafkabal.cli.commands.sandbox:logs"),
            "kill": Row("Kill nodes with SIGKILL, like a crash.", "kafkabal.cli.commands.sandbox:kill"),
            "pause": Row("Pause nodes with SIGSTOP, like a hung machine.", "kafkabal.cli.commands.sandbox:pause"),
            "start": Row("Start or resume nodes and wait until they respond.", "kafkabal.cli.commands.sandbox:start"),
            "stop": Row("Shut nodes down gracefully (SIGTERM).", "kafkabal.cli.commands.sandbox:stop"),
            "down": Row("Remove a sandbox: its processes and files.", "kafkabal.cli.commands.sandbox:down"),
        },
        section="Try out",
    ),
    "demo": Row(
        "Inspect and rebalance an unbalanced cluster in a sandbox (usually under a minute).",
        "kafkabal.cli.commands.demo:demo",
        section="Try out",
    ),
}
