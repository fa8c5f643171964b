"""Reports on sandboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkabal.errors import InputFileError
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.sandbox import NodeState, NodeStatus, Sandbox
from kafkabal.wording import counted_noun

_TONES: Final = {
    NodeState.RUNNING: Tone.GOOD,
    NodeState.PAUSED: Tone.WARNING,
    NodeState.KILLED: Tone.WARNING,
    NodeState.STOPPED: Tone.WARNING,
    NodeState.NOT_STARTED: Tone.WARNING,
    NodeState.OUT_OF_MEMORY: Tone.BAD,
    NodeState.ENDED: Tone.BAD,
}


def sandbox_report(command: str, sandboxes: Sequence[Sandbox], *, damaged: Sequence[InputFileError] = ()) -> Report:
    """Report on all nodes of these sandboxes; for a single one also its addresses, else None.

    ``damaged`` says which sandboxes are left out because their record cannot be read.
    """
    found = [(sandbox, status) for sandbox in sandboxes for status in sandbox.status()]
    table = Table(key="nodes", columns=_columns(found, several=len(sandboxes) > 1))
    facts = _addresses(sandboxes[0] if len(sandboxes) == 1 else None)
    up = not damaged and all(status.state is NodeState.RUNNING for _, status in found)
    return Report(
        command=command,
        headline="No sandbox can be read." if damaged and not sandboxes else _headline(sandboxes, found),
        tone=Tone.GOOD if up else Tone.WARNING,
        facts=facts,
        tables=(table,),
        notes=[error.in_one_line for error in damaged],
    )


def _headline(sandboxes: Sequence[Sandbox], found: Sequence[tuple[Sandbox, NodeStatus]]) -> str:
    if not sandboxes:
        return "No sandboxes."
    running = sum(status.state is NodeState.RUNNING for _, status in found)
    if len(sandboxes) > 1:
        return f"{len(sandboxes)} sandboxes: {running} of {counted_noun(len(found), 'node')} running."
    (sandbox,) = sandboxes
    return (
        f"Sandbox {sandbox.name}, Kafka {sandbox.record.spec.version}: "
        f"{running} of {counted_noun(len(found), 'node')} running."
    )


def _addresses(sandbox: Sandbox | None) -> list[Fact]:
    if sandbox is None:
        keys = ("name", "kafka_version", "bootstrap_servers", "zookeeper", "profile", "listeners")
        return [Fact(key=key, value=None) for key in keys]
    listeners = {
        listener.name: sandbox.bootstrap_servers_of(listener.name) for listener in sandbox.record.spec.listeners
    }
    return [
        Fact(key="name", value=sandbox.name),
        Fact(key="kafka_version", value=sandbox.record.spec.version),
        Fact(key="bootstrap_servers", value=sandbox.bootstrap_servers, title="bootstrap servers"),
        Fact(key="zookeeper", value=sandbox.zookeeper, title="ZooKeeper" if sandbox.zookeeper else ""),
        Fact(key="profile", value=str(sandbox.profile_path), title="profile"),
        Fact(key="listeners", value=listeners, title="listeners" if listeners else "", kind=ValueKind.MAP),
    ]


def _columns(found: Sequence[tuple[Sandbox, NodeStatus]], *, several: bool) -> list[Column]:
    sandboxes = [sandbox for sandbox, _ in found]
    statuses = [status for _, status in found]
    nodes = [status.node for status in statuses]
    return [
        Column(key="sandbox", title="sandbox" if several else "", values=[s.name for s in sandboxes], label=True),
        Column(key="node", title="node", values=[node.id for node in nodes], kind=ValueKind.NUMBER, label=True),
        Column(key="role", title="role", values=[node.role.value for node in nodes]),
        Column(key="rack", title="rack", values=[node.rack for node in nodes], quiet=True, dispensable=2),
        Column(key="port", title="port", values=[node.main_port for node in nodes], dispensable=1),
        Column(
            key="state",
            title="state",
            values=[status.state.value.replace(" ", "-") for status in statuses],
            tones=[_TONES[status.state] for status in statuses],
        ),
        Column(key="pid", title="pid", values=[status.pid for status in statuses], dispensable=4),
        Column(
            key="rss_bytes", title="memory", values=[s.rss_bytes for s in statuses], kind=ValueKind.BYTES, dispensable=3
        ),
        Column(key="cause", title="cause", wraps=True, values=[status.cause for status in statuses], quiet=True),
        Column(key="log", title="", values=[str(s.log(node.id)) for s, node in zip(sandboxes, nodes, strict=True)]),
    ]
