"""``kafkabal route-simulate`` and ``kafkabal policies``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import ExitCode
from kafkabal.routing.registry import policy_names
from kafkabal.simulator.workload_cluster import Leaders, WorkloadCluster, build_workload_cluster


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A cluster of four brokers, two of which lead twice as much."""
    path = tmp_path / "cluster.jsonl"
    write_snapshot(build_workload_cluster(WorkloadCluster(brokers=4, leaders=Leaders.BROKERS_PLUS_2, seed=1)), path)
    return str(path)


def test_policies_are_compared_on_a_snapshot(run_cli: Callable[..., Any], snapshot: str) -> None:
    """Programs get each policy's figures and every broker's bytes; the most balanced policy is first."""
    found = run_cli(
        "route-simulate", "--snapshot", snapshot, "--policy", "random", "--policy", "score", "--records", "5000",
        "--seeds", "2", "-o", "json",
    )  # fmt: skip
    document = json.loads(found.out)

    assert found.code == ExitCode.DONE
    assert document["records"] == 5000
    assert [row["policy"] for row in document["policies"]] == ["score", "random"]
    assert document["policies"][0]["max_over_mean"] < 1.05 < document["policies"][1]["max_over_mean"]
    assert document["policies"][0]["latency_p99_s"] > 0
    assert len(document["brokers"]) == 8
    assert document["written_bytes"] == 5_000_000
    on_disk = sum(row["written_bytes"] for row in document["brokers"][:4])
    assert 5_035_000 < on_disk < 5_100_000
    assert isinstance(document["policies"][0]["log_dir_bytes"], int)
    assert document["policies"][0]["log_dir_bytes"] == pytest.approx(on_disk, abs=4)


@pytest.mark.parametrize("known", [True, False])
def test_an_unknown_capacity_has_no_used_ratio(run_cli: Callable[..., Any], tmp_path: Path, known: bool) -> None:
    """Used bytes are no fraction of the placeholder for a dead broker's capacity, nor of the fullest broker."""
    disk = f'[{{"path":"/d","total_bytes":{10**9 if known else "null"},"usable_bytes":null}}]'
    partitions = [
        {"partition": p, "leader": 1 + p % 2, "replicas": [1 + p % 2, 3], "isr": [1 + p % 2], "sizes": [10**6, 10**6]}
        for p in range(4)
    ]
    lines = [
        '{"kafkabal_snapshot":1,"cluster_id":"c","taken_at":"2026-01-01T00:00:00Z","source":"kafka"}',
        *(f'{{"broker":{broker},"rack":null,"host":"h","port":1,"log_dirs":{disk}}}' for broker in (1, 2)),
        json.dumps({"topic": "t", "partitions": partitions}),
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    words = ("route-simulate", "--snapshot", str(tmp_path / "c.jsonl"), "--policy", "random", "--records", "100")
    document = json.loads(run_cli(*words, "-o", "json").out)

    ratios = [row["used_ratio"] for row in document["brokers"]]
    assert document["capacity_known"] == known
    assert ratios == ([pytest.approx(0.002, rel=0.1)] * 2 + [None] if known else [None] * 3)
    assert document["policies"][0]["variation"] < 0.1
    assert ("of capacity" in run_cli(*words).out) == known


def test_same_command_same_answer(run_cli: Callable[..., Any]) -> None:
    """Two runs with the same seeds print the same."""
    words = ("route-simulate", "--workload", "uneven", "--records", "3000", "--policy", "adaptive", "-o", "json")

    assert run_cli(*words).out == run_cli(*words).out


def test_every_policy_is_simulated_by_default(run_cli: Callable[..., Any]) -> None:
    """Without --policy, all are compared, on the workload's own cluster."""
    found = run_cli("route-simulate", "--workload", "uneven", "--records", "500", "-o", "json")

    assert {row["policy"] for row in json.loads(found.out)["policies"]} == set(policy_names())


def test_training_time_is_shown_for_a_storage(run_cli: Callable[..., Any], snapshot: str) -> None:
    """With --storage, the cost of training and of unequal shards is shown; a note explains the bytes."""
    found = run_cli(
        "route-simulate", "--snapshot", snapshot, "--policy", "round-robin", "--storage", "nfs", "--no-latency"
    )

    assert found.code == ExitCode.DONE
    assert "broker bytes are log-dir bytes" in found.out
    assert "no headers, not compressed" in " ".join(found.out.split())
    assert "slowdown" in found.out
    assert "p99" not in found.out


def test_storages_are_compared(run_cli: Callable[..., Any], snapshot: str) -> None:
    """With --storage all, each storage has a row per policy: faster storage waits less, computing takes as long."""
    words = ("--workload", "coco", "--records", "5000", "--policy", "sticky", "--policy", "round-robin", "--no-latency")
    document = json.loads(
        run_cli("route-simulate", "--snapshot", snapshot, *words, "--storage", "all", "-o", "json").out
    )
    rows = {(row["policy"], row["storage"]): row for row in document["training"]}
    assert len(rows) == 6
    waiting = [rows["sticky", storage]["waiting_fraction"] for storage in ("lustre", "local-ssd", "nfs")]
    assert 0 < waiting[0] < waiting[1] < waiting[2] < 1
    assert (
        len({round(r["train_s"] * (1 - r["waiting_fraction"]), 6) for (p, _), r in rows.items() if p == "sticky"}) == 1
    )


def test_every_seed_waits_for_its_own_largest_shard(run_cli: Callable[..., Any]) -> None:
    """Training takes the mean time of the seeds, not the time of mean shards; records are as long as in the log."""
    words = ("--workload", "slow-broker", "--records", "100", "--policy", "random", "--no-latency", "--storage", "nfs")
    document = json.loads(run_cli("route-simulate", *words, "--seeds", "5", "-o", "json").out)
    (policy,), (training,) = document["policies"], document["training"]
    largest = policy["max_over_mean"] * policy["log_dir_bytes"] / 4

    assert policy["max_over_mean"] > 1.02 * max(row["share"] for row in document["brokers"])
    assert training["load_s"] == pytest.approx(largest / 250e6, rel=1e-3)
    waiting_s = largest / 250e6 + 0.0003 * policy["max_over_mean"] * 100 / 4
    assert training["train_s"] == pytest.approx(2 * (waiting_s + 0.0009 * 100 / 4), rel=1e-3)


def test_a_broker_that_is_read_slowly_costs_training_time(
    run_cli: Callable[..., Any], snapshot: str, tmp_path: Path
) -> None:
    """With its own rate in the training file, one broker delays the readers; an unknown one is refused."""
    words = ("route-simulate", "--snapshot", snapshot, "--policy", "round-robin", "--no-latency", "--storage", "nfs")
    training = tmp_path / "t.yaml"
    loads = []
    for text in ("read_rate: 100MB/s", "read_rate: {default: 100MB/s, 2: 10MB/s}"):
        training.write_text(text)
        document = json.loads(run_cli(*words, "--training", str(training), "-o", "json").out)
        loads.append(document["policies"][0]["load_s"])
    assert loads[1] > 4 * loads[0]

    training.write_text("read_rate: {9: 10MB/s}")
    refused = run_cli(*words, "--training", str(training))
    assert refused.code == ExitCode.USAGE
    assert f"{training}: unknown broker in read_rate: 9" in refused.err


@pytest.mark.parametrize(
    "text", ["events: [{at: 1s, broker: 9, becomes: dead}]", "transport: {broker_rate: {default: 1MB/s, 9: 1kB/s}}"]
)
def test_a_workload_with_an_unknown_broker_is_named(
    run_cli: Callable[..., Any], snapshot: str, tmp_path: Path, text: str
) -> None:
    """An event or a rate of a broker that the cluster does not have ends with exit 2, and the file is named."""
    workload = tmp_path / "w.yaml"
    workload.write_text(text)

    refused = run_cli("route-simulate", "--snapshot", snapshot, "--workload", str(workload), "--no-latency")

    assert refused.code == ExitCode.USAGE
    assert f"{workload}: unknown broker in the workload: 9" in refused.err


def test_records_that_are_refused_are_counted_whole(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Records without a leader are counted, without decimals, for people and for programs."""
    workload = tmp_path / "w.yaml"
    workload.write_text(
        "records: 2000\ncluster: {brokers: 4}\nkeys: {uniform: 500}\nevents: [{at: 0s, broker: 1, becomes: dead}]\n"
    )
    words = ("route-simulate", "--workload", str(workload), "--policy", "key-hash", "--no-latency", "--seeds", "2")
    refused = json.loads(run_cli(*words, "-o", "json").out)["policies"][0]["refused"]
    assert isinstance(refused, int)
    assert 300 < refused < 700
    assert f"{refused:,}" in (shown := run_cli(*words).out)
    assert f"{refused:,}." not in shown


def test_order_at_risk_is_reported(run_cli: Callable[..., Any], snapshot: str) -> None:
    """A keyed workload lists the policies that do not keep a key's order."""
    found = run_cli(
        "route-simulate", "--snapshot", snapshot, "--workload", "events", "--records", "2000", "--policy", "score",
        "--policy", "key-hash",
    )  # fmt: skip

    assert "order at risk" in found.out
    assert "do not keep key order: score" in " ".join(found.out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policy", "scor"), "unknown policy: 'scor'"),
        (("--workload", "event"), "unknown workload: 'event'"),
        (("--topic", "nope"), "unknown topic: 'nope'"),
        (("--records", "5", "--bytes", "1GB"), "--records and --bytes cannot be combined"),
        (
            ("-o", "prometheus"),
            "unknown value: 'prometheus'\nkafkabal: hint: choose from: table, json, yaml, csv",
        ),
        (("--bytes", "0"), "--bytes: size must be above 0: '0'"),
        (("--storage", "floppy"), "unknown storage profile: 'floppy'"),
        (("--training", "t.yaml"), "--training requires --storage"),
        (("--rack", "r9", "--policy", "rack-local"), "unknown rack: 'r9'"),
        (("--rack", "r0", "--policy", "score", "--storage", "nfs"), "--rack requires a policy that uses it"),
        (("--score", "dis"), "unknown score: 'dis'"),
        (("--seeds", "0"), "--seeds: must be between 1 and 1,000: '0'"),
        (("--seeds", "1001"), "--seeds: must be between 1 and 1,000: '1001'"),
        (("--broker-timeout", "0s"), "--broker-timeout: duration must be above 0: '0s'"),
        (("--policy", "nothing.here:Policy"), "cannot load policy 'nothing.here:Policy'"),
    ],
)
def test_mistakes_end_with_one_line_and_exit_2(
    run_cli: Callable[..., Any], snapshot: str, words: tuple[str, ...], message: str
) -> None:
    """An invalid question ends with one line and exit 2, and nothing is simulated."""
    found = run_cli("route-simulate", "--snapshot", snapshot, *words)

    assert found.code == ExitCode.USAGE
    assert message in found.err
    assert "Traceback" not in found.err


def test_a_cluster_without_topics_is_no_cluster_with_several(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The error does not ask to choose one of no topics."""
    (tmp_path / "c.jsonl").write_text(
        '{"kafkabal_snapshot":1,"cluster_id":"c","taken_at":"2026-01-01T00:00:00Z","source":"kafka"}\n'
        '{"broker":1,"rack":null,"host":"h","port":1,"log_dirs":[]}\n'
    )
    found = run_cli("route-simulate", "--snapshot", str(tmp_path / "c.jsonl"), "--policy", "random")

    assert found.code == ExitCode.USAGE
    assert "error: the cluster has no topic to write to" in found.err


@pytest.mark.parametrize(
    ("workload", "data", "has_keys"),
    [
        ("events", "rows.jsonl", True),
        ("events", "folder", True),
        ("records", "rows.jsonl", False),
        ("records", "rows.jsonl --key k", True),
    ],
)
def test_data_without_a_key_leave_the_keys_of_the_workload(
    run_cli: Callable[..., Any],
    snapshot: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workload: str,
    data: str,
    *,
    has_keys: bool,
) -> None:
    """Sizes of files and of rows replace those of the workload, and nothing else; --key replaces its keys too."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("rows.jsonl", "folder/a"):
        Path(name).write_text('{"k": "a"}\n{"k": "b"}\n')
    asked = ("--snapshot", snapshot, "--workload", workload, "--policy", "random", "--records", "300")
    found = run_cli("route-simulate", *asked, "--data", *data.split())

    assert ("order at risk" in found.out) == has_keys


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("power-of-d:d=0", "power-of-d: d must be 1 to 100, not 0"),
        ("rack-local:rack=r9", "unknown rack: 'r9'"),
        ("broken_policies:Unmade", "policy 'broken_policies:Unmade': its class raised ValueError: not today"),
        ("broken_policies:Blind", "policy 'broken_policies:Blind': its refresh raised SystemExit: 0"),
        ("broken_policies:Deaf", "cannot be simulated: it learns from acknowledgements and has no kernels"),
    ],
)
def test_all_policies_are_validated_before_the_first_simulation(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, policy: str, message: str
) -> None:
    """An invalid policy is refused before any other is simulated."""

    def simulated(*_: object) -> None:
        raise AssertionError

    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setattr("kafkabal.simulator.compare_policies.simulate", simulated)
    found = run_cli("route-simulate", "--workload", "uneven", "--policy", "random", "--policy", policy)

    assert (found.code, found.out) == (ExitCode.USAGE, "")
    assert message in found.err.splitlines()[0]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("Failing", "its pick_batch raised RuntimeError: out of luck"),
        ("Leaving", "its pick_batch raised SystemExit"),
        ("Idle", "its pick_batch gave -1 for a record, and the partitions are 0 to 7"),
        ("Astray", "its pick_batch gave 8 for a record, and the partitions are 0 to 7"),
        ("Halved", "its pick_batch raised TypeError: partitions are whole numbers, not float64"),
    ],
)
def test_a_plug_in_policy_that_fails_is_named(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, policy: str, message: str
) -> None:
    """One line names the policy and its mistake, and the exit code is 2: it is not a bug of ours."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    found = run_cli(
        "route-simulate", "--workload", "uneven", "--records", "50", "--policy", f"broken_policies:{policy}"
    )

    assert (found.code, found.out) == (ExitCode.USAGE, "")
    assert found.err.splitlines() == [
        f"kafkabal: error: policy 'broken_policies:{policy}': {message}",
        "kafkabal: hint: see 'kafkabal help routing'",
    ]


@pytest.mark.parametrize(
    ("plot", "code", "message"),
    [
        ("p.gif", ExitCode.USAGE, "unsupported plot format: p.gif"),
        ("/nonexistent/d/x.svg", ExitCode.FAILED, "no such folder: /nonexistent/d"),
        ("matplotlib.svg", ExitCode.USAGE, "plots require matplotlib"),
    ],
)
def test_a_plot_that_cannot_be_drawn_is_refused_before_anything_is_simulated(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, plot: str, code: ExitCode, message: str
) -> None:
    """A plot that cannot be written is refused before the simulation."""

    def simulated(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("kafkabal.simulator.compare_policies.compare", simulated)
    missing = plot == "matplotlib.svg"
    monkeypatch.setattr("kafkabal.reporting.simulation_plots.find_spec", lambda _: None if missing else True)
    found = run_cli("route-simulate", "--workload", "uneven", "--plot", plot)

    assert found.code == code
    assert message in found.err


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_plot_is_written(run_cli: Callable[..., Any], tmp_path: Path, ending: str) -> None:
    """Plots of all formats are written, and are the same from one run to the next."""
    pytest.importorskip("matplotlib")
    plots = [tmp_path / f"{i}.{ending}" for i in range(2)]
    for plot in plots:
        run_cli("route-simulate", "--workload", "uneven", "--records", "300", "--policy", "score", "--plot", str(plot))

    assert plots[0].read_bytes() == plots[1].read_bytes()
    assert b"score" in plots[0].read_bytes() or ending == "png"


@pytest.mark.parametrize("other", ["least-loaded", "round-robin"])
def test_latencies_of_only_some_policies_are_shown(run_cli: Callable[..., Any], tmp_path: Path, other: str) -> None:
    """Without latencies, a policy that depends on acknowledgements still has them, be it the best or the worst."""
    pytest.importorskip("matplotlib")
    workload, plot = tmp_path / "w.yaml", tmp_path / "plot.svg"
    workload.write_text("records: 3000\ncluster: {brokers: 3}\n")
    words = ("--workload", str(workload), "--policy", "join-idle-queue", "--policy", other, "--no-latency")
    found = run_cli("route-simulate", *words, "--plot", str(plot))

    assert found.code == ExitCode.DONE, found.err
    assert "p99" in found.out
    assert "latencies are modelled" in found.out
    assert "latency in ms" in plot.read_text()


def test_a_plot_has_a_dot_for_each_broker_and_seed(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Unequal brokers of single seeds are not averaged into equal ones."""
    pytest.importorskip("matplotlib")
    plot = tmp_path / "plot.svg"
    words = ("--workload", "uneven", "--records", "200", "--policy", "random", "--no-latency", "--seeds", "3")
    run_cli("route-simulate", *words, "--plot", str(plot))

    assert plot.read_text().count("fill-opacity: 0.6") == 3 * 6


def test_a_plot_shows_names_as_they_are(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Dollar signs in the name of a workload are no formula, and what steers a terminal is escaped."""
    pytest.importorskip("matplotlib")
    workload, plot = tmp_path / "$\\x$\x1b.yaml", tmp_path / "plot.svg"
    workload.write_text("records: 100\ncluster: {brokers: 3}\n")
    words = ("--workload", str(workload), "--policy", "random", "--no-latency", "--plot", str(plot))
    found = run_cli("route-simulate", *words)

    assert found.code == ExitCode.DONE, found.err
    assert r"$\x$\x1b into " in plot.read_text()


def test_policies_are_listed_with_their_needs(run_cli: Callable[..., Any]) -> None:
    """Programs get each policy with needs, order, feedback, source and options."""
    rows = {row["policy"]: row for row in json.loads(run_cli("policies", "-o", "json").out)["policies"]}

    assert set(rows) == set(policy_names())
    assert rows["adaptive"]["keeps_key_order"] is True
    assert rows["score"]["keeps_key_order"] is False
    assert rows["c3"]["needs"] == ["acks"]
    assert rows["power-of-d"]["options"] == ["d=2"]
    assert all(row["source"] for row in rows.values())


@pytest.mark.parametrize(
    ("source", "error", "hint"),
    [
        (
            "https://user:secret@example.com/a.csv",
            "not on this host: https://user@example.com/a.csv",
            "copy it to this host first",
        ),
        ("s3://bucket/images", "not on this host: s3://bucket/images", "copy it to this host first"),
        ("-", "not a folder or regular file: -", "write it to a file first: it is read twice"),
        ("/dev/null", "not a folder or regular file: /dev/null", "write it to a file first: it is read twice"),
    ],
)
def test_data_elsewhere_is_refused(
    run_cli: Callable[..., Any], snapshot: str, source: str, error: str, hint: str
) -> None:
    """Only ``produce`` reads stores and pipes; a URL is shown as it was given, without its password."""
    refused = run_cli("route-simulate", "--snapshot", snapshot, "--topic", "workload", "--data", source)
    assert refused.code == ExitCode.USAGE
    assert refused.err.splitlines() == [
        f"kafkabal: error: --data: {error}",
        f"kafkabal: hint: {hint}",
    ]
