"""``kafkabal sandbox``: options in, calls and reports out; no cluster is started."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.commands.sandbox import parse_node
from kafkabal.cli.commands.sandbox_shape import ShapeOptions, parse_broker_assignment, parse_listener
from kafkabal.errors import ExitCode
from kafkabal.sandbox import KafkaListener, Node, Role, Sandbox, SandboxSpec, find_sandbox
from kafkabal.sandbox.sandbox_record import SandboxRecord, write_record

RunCli = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of the sandboxes, with one that was never started and one that ended."""
    home = tmp_path / "state" / "sandboxes"
    for name in ("fresh", "ended"):
        nodes = (Node(1, Role.BROKER_AND_CONTROLLER, "r0", {"PLAINTEXT": 9}),)
        (home / name / "broker-1").mkdir(parents=True)
        write_record(SandboxRecord(name, SandboxSpec(brokers=1), "id", 0.0, nodes), home / name)
    (home / "ended" / "broker-1" / "node.log").write_text("[x] INFO one\n[x] ERROR disk full\n")
    return home


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["up", "--brokers", "0"], "--brokers: must be between 1 and 50: 0"),
        (["up", "--name", "../x"], "invalid sandbox name"),
        (["up", "--property", "x"], "--property: invalid setting: 'x'"),
        (["up", "--broker-property", "x=y"], "--broker-property: invalid broker setting: 'x=y'"),
        (["up", "--listener", "TLS=TSL"], "--listener: unknown security protocol: 'TSL'"),
        (["up", "--capacity", "much"], "--capacity: invalid size: 'much'"),
        (["up", "--timeout", "0s"], "--timeout: duration must be above 0: '0s'"),
        (["kill", "one"], "NODE: not a node: 'one'"),
        (["kill"], "missing argument"),
        (["kill", "1"], "unknown sandbox: default"),
        (["logs", "3", "--name", "ended"], "sandbox ended: unknown node: 3"),
        (["down", "--name", "other"], "unknown sandbox: other"),
    ],
)
def test_invalid_arguments(words: list[str], message: str, run_cli: RunCli, home: Path) -> None:
    """A mistake is reported with its option, before anything is started."""
    outcome = run_cli("sandbox", *words)
    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")
    assert message in outcome.err


def test_no_sandbox(run_cli: RunCli) -> None:
    """Having none is a result, not an error."""
    outcome = run_cli("sandbox", "status")
    assert (outcome.code, outcome.out) == (ExitCode.DONE, "No sandboxes.\n")


def test_status_of_all(run_cli: RunCli, home: Path) -> None:
    """All nodes of all sandboxes are shown, with the reason if one exited on its own."""
    outcome = run_cli("sandbox", "status", "-o", "json")
    nodes = json.loads(outcome.out)["nodes"]
    assert [(node["sandbox"], node["state"], node["cause"]) for node in nodes] == [
        ("ended", "ended", "disk full"),
        ("fresh", "not-started", None),
    ]


@pytest.mark.parametrize(("command", "done"), [("kill", "killed"), ("stop", "stopped"), ("pause", "paused")])
def test_what_was_done_to_nodes(
    command: str, done: str, run_cli: RunCli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes that were ended or paused are named, but not with -q."""
    monkeypatch.setattr(Sandbox, command, lambda sandbox, *ids: [sandbox.record.node(node) for node in ids])
    words = ("sandbox", command, "1", "--name", "ended")
    assert [run_cli(*words).err, run_cli(*words, "-q").err] == [f"{done} broker 1\n", ""]


@pytest.mark.parametrize("command", ["kill", "stop"])
def test_ending_nodes_that_do_not_run(command: str, run_cli: RunCli, home: Path) -> None:
    """Nothing is claimed of nodes that had no process."""
    outcome = run_cli("sandbox", command, "1", "--name", "ended")
    assert (outcome.code, outcome.err) == (ExitCode.DONE, "nothing to do: no such node is running\n")


def test_status_of_one(run_cli: RunCli, home: Path) -> None:
    """A single one is shown with the addresses that clients need."""
    document = json.loads(run_cli("sandbox", "status", "--name", "fresh", "-o", "json").out)
    assert document["bootstrap_servers"] == "127.0.0.1:9"
    assert document["profile"] == str(home / "fresh" / "profile.yaml")


@pytest.mark.parametrize(
    ("profiles", "environ", "said"),
    [
        ("", {}, ""),
        ("profiles: {prod: {bootstrap_servers: 'b:9'}}", {}, ""),
        ("use: prod\nprofiles: {prod: {bootstrap_servers: 'b:9'}}", {}, "the profile prod names another cluster: "),
        ("", {"KAFKABAL_BOOTSTRAP_SERVER": "b:9"}, "the environment names another cluster: "),
        ("", {"KAFKABAL_PROFILE": "fresh"}, ""),
        ("use: [", {}, ""),
    ],
)
def test_a_sandbox_that_other_commands_do_not_use_says_so(
    profiles: str,
    environ: dict[str, str],
    said: str,
    run_cli: RunCli,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the next command would act on another cluster; the sandbox starts nevertheless."""
    profile = home / "fresh" / "profile.yaml"
    profile.write_text("bootstrap_servers: 127.0.0.1:9\n")
    (tmp_path / "config").mkdir(exist_ok=True)
    if profiles:
        (tmp_path / "config" / "profiles.yaml").write_text(profiles)
    monkeypatch.setattr("kafkabal.sandbox.up", lambda *_, **__: find_sandbox("fresh", home=home))
    environ = {key: str(profile) if value == "fresh" else value for key, value in environ.items()}

    outcome = run_cli("sandbox", "up", environ=environ)

    assert outcome.code == ExitCode.DONE
    assert outcome.err.splitlines()[1:] == ([f"{said}to use the sandbox, add --profile {profile}"] if said else [])


def test_another_home(run_cli: RunCli, home: Path) -> None:
    """The environment variable changes the folder of the sandboxes."""
    assert "ended" in run_cli("sandbox", "status").out
    outcome = run_cli("sandbox", "status", environ={"KAFKABAL_SANDBOX_HOME": str(home / "elsewhere")})
    assert outcome.out == "No sandboxes.\n"


def test_logs(run_cli: RunCli, home: Path) -> None:
    """The last lines of a node's log go to stdout unchanged."""
    assert run_cli("sandbox", "logs", "1", "--name", "ended", "-n", "1").out == "[x] ERROR disk full\n"


def test_down_removes_sandboxes_whose_processes_have_ended(run_cli: RunCli, home: Path) -> None:
    """The sandbox is removed entirely, and other sandboxes are not touched."""
    outcome = run_cli("sandbox", "down", "--name", "ended")
    assert (outcome.code, outcome.err) == (ExitCode.DONE, "removed sandbox ended\n")
    assert [path.name for path in home.iterdir()] == ["fresh"]


def test_shape() -> None:
    """Options become the specification; without any, the existing sandbox or the defaults are used."""
    assert ShapeOptions().spec() is None
    options = ShapeOptions(
        brokers=2,
        zookeeper=True,
        properties=[("a", "b")],
        broker_properties=[parse_broker_assignment("2:c=d=e"), parse_broker_assignment("2:f=")],
        listeners=[parse_listener("TLS=SSL")],
    )
    assert options.spec() == SandboxSpec(
        brokers=2,
        zookeeper=True,
        properties={"a": "b"},
        broker_properties={2: {"c": "d=e", "f": ""}},
        listeners=(KafkaListener(name="TLS", protocol="SSL"),),
    )


def test_nodes_are_named_by_number_and_zookeeper_by_name() -> None:
    """Users need not know ZooKeeper's internal id."""
    assert (parse_node("101"), parse_node("zookeeper")) == (101, 0)


def test_status_of_all_leaves_out_damaged_sandboxes(run_cli: RunCli, home: Path) -> None:
    """One damaged record hides no other sandbox: it is named below them, with the way to remove it."""
    damaged = home / "damaged" / "sandbox.json"
    damaged.parent.mkdir()
    damaged.write_text("{")
    outcome = run_cli("sandbox", "status", "-o", "json")
    document = json.loads(outcome.out)
    assert outcome.code == ExitCode.DONE
    assert [node["sandbox"] for node in document["nodes"]] == ["ended", "fresh"]
    (note,) = document["notes"]
    assert str(damaged) in note
    assert "kafkabal sandbox down --name damaged" in note
    for name in ("ended", "fresh"):
        run_cli("sandbox", "down", "--name", name)
    assert run_cli("sandbox", "status").out.startswith("No sandbox can be read.\n")
    assert run_cli("sandbox", "status", "--name", "damaged").code == ExitCode.USAGE
