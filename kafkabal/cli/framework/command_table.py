"""The commands, by name: where the function of each is, and its one-line help; nothing is imported for it.

A row appears together with its module. The help is the first line of the function's docstring, which a test holds
to; it stands here too, so that ``kafkabal --help`` need not import every command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Row(NamedTuple):
    """A command, or a group of commands, which may also do something by itself."""

    help: str
    function: str = ""
    """``module:function``; empty for a group that does nothing by itself."""
    commands: Mapping[str, Row] | None = None
    """The commands of a group."""


COMMANDS: Final[Mapping[str, Row]] = {
    "inspect": Row("Show how evenly the load lies, worst first.", "kafkabal.cli.commands.inspect:inspect"),
    "create": Row("Create topics where there is room.", "kafkabal.cli.commands.create:create"),
    "produce": Row("Send files or rows, each to where there is room.", "kafkabal.cli.commands.produce:produce"),
    "rebalance": Row(
        "Bring what lies unevenly into place, safely.",
        "kafkabal.cli.commands.rebalance.plan_and_apply:rebalance",
        commands={
            "plan": Row("Make a plan and change nothing.", "kafkabal.cli.commands.rebalance.plan:plan"),
            "explain": Row(
                "Tell in words why a partition is planned.", "kafkabal.cli.commands.rebalance.explain:explain"
            ),
            "apply": Row("Carry out a plan from a file.", "kafkabal.cli.commands.rebalance.apply:apply"),
            "status": Row(
                "Show what is true of the latest run on the cluster now.",
                "kafkabal.cli.commands.rebalance.status:status",
            ),
            "resume": Row(
                "Go on with the latest run, after whatever stopped it.", "kafkabal.cli.commands.rebalance.resume:resume"
            ),
            "cancel": Row(
                "Stop what the latest run has in flight, and put its throttles back.",
                "kafkabal.cli.commands.rebalance.cancel:cancel",
            ),
            "rollback": Row("Undo the latest run.", "kafkabal.cli.commands.rebalance.rollback:rollback"),
            "repair": Row(
                "Put back throttles that a run has left behind, and list others that nothing uses.",
                "kafkabal.cli.commands.rebalance.repair:repair",
            ),
            "throttle": Row(
                "Give the run that is going on another throttle, from any host.",
                "kafkabal.cli.commands.rebalance.throttle:throttle",
            ),
        },
    ),
    "sandbox": Row(
        "Run a real Apache Kafka of several brokers on this machine.",
        commands={
            "up": Row("Start a cluster, or what is missing of one.", "kafkabal.cli.commands.sandbox:up"),
            "status": Row("Show how the nodes are, and why one has ended.", "kafkabal.cli.commands.sandbox:status"),
            "logs": Row("Show the end of what a node has printed.", "kafkabal.cli.commands.sandbox:logs"),
            "kill": Row("Kill nodes, as a crash would (SIGKILL).", "kafkabal.cli.commands.sandbox:kill"),
            "pause": Row(
                "Pause nodes, as a machine that hangs would (SIGSTOP).", "kafkabal.cli.commands.sandbox:pause"
            ),
            "start": Row("Bring nodes back, and wait until they answer.", "kafkabal.cli.commands.sandbox:start"),
            "stop": Row("Stop nodes in good order (SIGTERM).", "kafkabal.cli.commands.sandbox:stop"),
            "down": Row(
                "Kill every process of a sandbox and remove every file of it.", "kafkabal.cli.commands.sandbox:down"
            ),
        },
    ),
    "demo": Row("See a lopsided cluster inspected and put right, in two minutes.", "kafkabal.cli.commands.demo:demo"),
    "route-simulate": Row(
        "Predict how a workload would lie and what it would cost, for one policy after the other.",
        "kafkabal.cli.commands.route_simulate:route_simulate",
    ),
    "policies": Row(
        "List the routing policies: how each decides, what it needs, whether it keeps key order.",
        "kafkabal.cli.commands.policies:policies",
    ),
    "scores": Row(
        "List the scores: what each measures and needs, and whether this cluster supplies it.",
        "kafkabal.cli.commands.scores:scores",
    ),
    "telemetry": Row(
        "Bring what clients measure to where routing can use it (KIP-714).",
        commands={
            "subscribe": Row("Make clients push metrics to the brokers.", "kafkabal.cli.commands.telemetry:subscribe"),
            "list": Row(
                "List the subscriptions: which clients push which metrics, and how often.",
                "kafkabal.cli.commands.telemetry:list_subscriptions",
            ),
            "remove": Row(
                "Remove subscriptions; what was forwarded stays until it is too old.",
                "kafkabal.cli.commands.telemetry:remove",
            ),
            "plugin": Row(
                "Build the broker plug-in that forwards what clients push.", "kafkabal.cli.commands.telemetry:plugin"
            ),
            "latency": Row(
                "Show how long each broker takes to answer producers, as they measure it.",
                "kafkabal.cli.commands.telemetry:latency",
            ),
        },
    ),
    "completion": Row("Print the completion script of a shell.", "kafkabal.cli.commands.completion:completion"),
}
