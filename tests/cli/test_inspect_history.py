"""``kafkabal inspect --record`` and ``--growth`` on successive snapshots."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkabal.clusters as clusters_room
from kafkabal.cli.commands.inspect_history import seconds_of
from kafkabal.clusters import Reading, ReadRequest
from kafkabal.clusters.snapshot import SnapshotCluster
from kafkabal.errors import NotAuthorizedError

TOTAL = 1000


def snapshot(folder: Path, hour: int, *, retention_ms: int = -1, kb_per_hour: int = 50) -> str:
    """A broker with a disk of 1000 bytes, into which a topic without limits writes."""
    used = kb_per_hour * hour
    lines = [
        {"kafkabal_snapshot": 1, "cluster_id": "growing", "taken_at": f"2026-01-01T{hour:02}:00:00Z"},
        {"broker": 1, "log_dirs": [{"path": "/d0", "total_bytes": TOTAL, "usable_bytes": TOTAL - used}]},
        {
            "topic": "t",
            "partitions": [
                {
                    "partition": 0,
                    "leader": 1,
                    "replicas": [1],
                    "sizes": [used],
                    "start_offset": 0,
                    "end_offset": used,
                    "log_dirs": [0],
                }
            ],
            "configs": {"retention.ms": str(retention_ms), "segment.bytes": "1"},
        },
    ]
    path = folder / f"{hour}-{retention_ms}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_growth_needs_something_recorded(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Without history one line says how to record it."""
    shown = run_cli("inspect", "--growth", "--snapshot", snapshot(tmp_path, 4))
    assert shown.code == 1
    folder = tmp_path / "state" / "history" / "growing"
    assert f"no history of this cluster in {folder}\n" in shown.err
    assert "--record" in shown.err


def test_a_window_shorter_than_the_least_history_is_refused(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """No history could ever suffice: 'try again later' would be wrong."""
    refused = run_cli("inspect", "--growth", "--over", "2m", "--snapshot", snapshot(tmp_path, 4))
    assert refused.code == 2
    assert refused.err.splitlines() == [
        "kafkabal: error: --over: too short: 2 min",
        "kafkabal: hint: growth needs a history of at least 5 min",
    ]


def test_an_idle_cluster_is_said_to_be_idle(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The report says that nothing was written, and names no limit by retention."""
    first, second = (snapshot(tmp_path, hour, retention_ms=10**9, kb_per_hour=0) for hour in (4, 5))
    run_cli("inspect", "--record", "-q", "--snapshot", first)
    shown = run_cli("inspect", "--growth", "--snapshot", second)
    assert shown.out.splitlines()[0] == "No disk will be full: nothing was written in 1 h."


@pytest.mark.parametrize("taken_at", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"])
def test_a_snapshot_without_a_possible_time_was_taken_now(taken_at: str) -> None:
    """A time before the epoch would give a file of history that no reader finds and no thinning removes; a forecast
    from the end of all dates would have none."""
    assert seconds_of(taken_at) == 0.0


def test_seconds_of_history_are_no_forecast(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """One batch within them would look like the load of a day: the least span is demanded, and a short one is named."""
    first, second = (Path(snapshot(tmp_path, hour)) for hour in (4, 5))
    run_cli("inspect", "--record", "-q", "--snapshot", str(first))
    for minute, code in ((4, 1), (6, 0)):
        soon = tmp_path / f"{minute}.jsonl"
        soon.write_text(second.read_text().replace("T05:00", f"T04:{minute:02}"))
        shown = run_cli("inspect", "--growth", "--snapshot", str(soon))
        assert shown.code == code, shown.err
        if code:
            assert "reaches back 4 min: growth needs at least 5 min" in shown.err
            exposed = run_cli("inspect", "--record", "-o", "prometheus", "--snapshot", str(soon))
            assert "kafkabal_full_seconds" not in exposed.out
        else:
            assert "(measured over 6 min)" in shown.out


def test_a_far_forecast_from_little_history_is_marked(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Fifteen hours ahead from one hour of history."""
    run_cli("inspect", "--record", "-q", "--snapshot", snapshot(tmp_path, 4))
    shown = run_cli("inspect", "--growth", "--snapshot", snapshot(tmp_path, 5))
    assert "a history of 1 h is too short for a forecast of 15 h" in shown.err


def test_an_unusable_history_is_reported_differently_from_a_missing_one(
    run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    """History that is too recent, older than the window, or from before a clock was set back is not called missing."""
    run_cli("inspect", "--record", "-q", "--snapshot", snapshot(tmp_path, 4))
    at_once = run_cli("inspect", "--growth", "--snapshot", snapshot(tmp_path, 4))
    assert at_once.code == 1
    assert "the history of this cluster begins now" in at_once.err
    set_back = run_cli("inspect", "--growth", "--snapshot", snapshot(tmp_path, 2))
    assert set_back.code == 1
    assert "the last record is dated 2 h ahead of this reading" in set_back.err
    before = run_cli("inspect", "--growth", "--over", "30m", "--snapshot", snapshot(tmp_path, 6))
    assert before.code == 1
    assert "in the last 30 min: the last was recorded 2 h ago" in before.err


@pytest.mark.parametrize(("by", "key"), [("broker", "brokers"), ("log-dir", "log_dirs")])
def test_two_recordings_are_enough_to_forecast_a_full_disk(
    run_cli: Callable[..., Any], tmp_path: Path, by: str, key: str
) -> None:
    """50 bytes per hour into 750 free bytes: full in 15 hours, and exit 3 if that is too soon."""
    for hour in (1, 2, 3, 4):
        assert run_cli("inspect", "--record", "-q", "--snapshot", snapshot(tmp_path, hour)).code == 0
    words = ("inspect", "--growth", "--by", by, "--snapshot", snapshot(tmp_path, 5))
    shown = run_cli(*words, "-o", "json")
    assert shown.code == 0, shown.err
    (row,) = json.loads(shown.out)[key]
    assert row["full_s"] == pytest.approx(15 * 3600, rel=0.001)
    assert row["written_bytes_per_day"] == pytest.approx(1200)
    assert row["full_on"] == "2026-01-01"
    assert run_cli(*words, "--full-within", "14h").code == 0
    assert run_cli(*words, "--full-within", "16h").code == 3
    assert "full_seconds" in run_cli(*words, "-o", "prometheus").out
    assert "will be full in 15 h" in run_cli(*words).out
    assert run_cli(*words, "-o", "csv").out.count("\n") == 2


def test_an_unwritable_history_does_not_suppress_the_report(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Metrics of one or several clusters are still written; exit 1 and one line say what is missing."""
    now = snapshot(tmp_path, 4)
    assert run_cli("profiles", "add", "p", "--snapshot", now).code == 0
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "history").write_text("a file where the folder should be")

    for words in (["--snapshot", now], ["--all-profiles"]):
        shown = run_cli("inspect", "--record", "-q", "-o", "prometheus", *words)
        assert shown.code == 1
        assert 'kafkabal_brokers{cluster="' in shown.out
        assert shown.err.count("\n") == 1
        assert "history not recorded: " in shown.err
    nagios = run_cli("inspect", "--record", "--nagios", "--snapshot", now)
    assert nagios.code == run_cli("inspect", "--nagios", "--snapshot", now).code
    assert "history not recorded: " in nagios.err


def test_retention_keeps_it_from_becoming_full(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Ten hours of retention are 500 bytes: never full, where linear growth gives 15 hours."""
    limit = 10 * 3600 * 1000
    run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 1, retention_ms=limit))
    words = ("inspect", "--growth", "--snapshot", snapshot(tmp_path, 5, retention_ms=limit), "--full-within", "90d")
    shown = run_cli(*words, "-o", "json")
    (row,) = json.loads(shown.out)["brokers"]
    assert (shown.code, row["outlook"], row["full_s"]) == (0, "never", None)
    assert row["straight_line_full_s"] == pytest.approx(15 * 3600, rel=0.001)
    assert "+Inf" in run_cli(*words, "-o", "prometheus").out
    topics = json.loads(run_cli(*words, "--by", "topic", "-o", "json").out)["topics"]
    assert (topics[0]["limit"], round(topics[0]["steady_bytes"])) == ("time", 503)
    assert topics[0]["steady_s"] == pytest.approx(5 * 3600, rel=0.02)


def test_disks_of_unknown_size_are_not_among_those_that_never_fill(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """What is on a dead broker may grow until its disk is full; neither are its bytes part of a total."""
    limit = 10 * 3600 * 1000
    for hour in (1, 5):
        path = Path(snapshot(tmp_path, hour, retention_ms=limit))
        path.write_text(path.read_text().replace('"replicas": [1]', '"replicas": [1, 2]').replace("[0]", "[0, null]"))
        path.write_text(path.read_text().replace(f'"sizes": [{50 * hour}]', f'"sizes": [{50 * hour}, null]'))
        shown = run_cli("inspect", "--growth" if hour == 5 else "--record", "--snapshot", str(path))
    assert shown.out.startswith("No disk of known size will be full; those of broker 2 are unknown."), shown.out
    for by, key, estimated in (("broker", "brokers", [False, True]), ("topic", "topics", [True])):
        rows = json.loads(run_cli("inspect", "--growth", "--by", by, "--snapshot", str(path), "-o", "json").out)[key]
        assert [row["used_bytes_estimated"] for row in rows] == estimated


def test_recording_exposes_when_the_first_disk_is_full(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """From the second run on, Prometheus output has the time until the first disk is full; never is +Inf."""
    first = run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 1), "-o", "prometheus")
    assert "kafkabal_full_seconds{" not in first.out
    words = ("inspect", "--record", "--snapshot", snapshot(tmp_path, 5))
    assert 'kafkabal_full_seconds{cluster="growing"} 54000' in run_cli(*words, "-o", "prometheus").out
    shown = json.loads(run_cli(*words, "-o", "json").out)
    assert (round(shown["full_s"]), shown["full_outlook"]) == (54000, "full")
    limited = snapshot(tmp_path, 5, retention_ms=36_000_000)
    never = run_cli("inspect", "--record", "--snapshot", limited, "-o", "prometheus").out
    assert 'kafkabal_full_seconds{cluster="growing"} +Inf' in never
    assert (
        json.loads(run_cli("inspect", "--record", "--snapshot", limited, "-o", "json").out)["full_outlook"] == "never"
    )


def test_many_clusters_show_when_the_first_disk_is_full(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A cluster's row in the fleet includes its history, and tells never from unknown; --record works on all."""
    assert run_cli("profiles", "add", "p", "--snapshot", snapshot(tmp_path, 1)).code == 0
    first = run_cli("inspect", "--all-profiles", "--record", "-o", "json")
    assert json.loads(first.out)["clusters"][0]["full_s"] is None
    assert run_cli("profiles", "add", "q", "--snapshot", snapshot(tmp_path, 5)).code == 0
    rows = json.loads(run_cli("inspect", "--all-profiles", "-o", "json").out)["clusters"]
    assert {row["cluster"]: row["full_s"] for row in rows}["q"] == pytest.approx(15 * 3600, rel=0.001)
    limited = snapshot(tmp_path, 5, retention_ms=36_000_000)
    assert run_cli("profiles", "add", "r", "--snapshot", limited).code == 0
    assert run_cli("profiles", "add", "s", "--snapshot", str(tmp_path / "gone.jsonl")).code == 0
    rows = json.loads(run_cli("inspect", "--all-profiles", "-o", "json").out)["clusters"]
    assert {row["cluster"]: (row["full_outlook"], row["full_s"] is None) for row in rows} == {
        "p": ("unknown", True),
        "q": ("full", False),
        "r": ("never", True),
        "s": ("unknown", True),
    }


def test_a_damaged_record_of_a_cluster_is_named_among_many(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The forecast of its cluster is made without it, which the reader has to know, as with a single cluster."""
    for hour in (1, 2):
        run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, hour))
    oldest = min(tmp_path.rglob("history/growing/*.jsonl.gz"))
    oldest.write_bytes(b"x")
    assert run_cli("profiles", "add", "p", "--snapshot", snapshot(tmp_path, 5)).code == 0
    shown = run_cli("inspect", "--all-profiles")
    assert shown.code == 0
    assert f"warning: p: history: {oldest}, line 1: not a history file" in shown.err


def test_a_history_takes_no_permission_that_is_not_needed_without_it(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only 'watch' records, configs may not be read: the cluster is shown, without when its disks are full."""

    class WithoutConfigs(SnapshotCluster):
        def read(self, request: ReadRequest) -> Reading:
            if request.configs:
                raise NotAuthorizedError("not authorized to describe the configs of topic t")
            return super().read(request)

    assert run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 1)).code == 0
    assert run_cli("profiles", "add", "p", "--snapshot", snapshot(tmp_path, 5)).code == 0
    monkeypatch.setattr(clusters_room, "connect", lambda address: WithoutConfigs(address.path))
    shown = run_cli("inspect", "--all-profiles", "-o", "json")
    (row,) = json.loads(shown.out)["clusters"]
    assert (shown.code, row["state"], row["full_s"]) == (0, "balanced", None)
    assert run_cli("inspect", "--all-profiles", "--record").code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--over", "1d"], "--over requires --growth"),
        (["--full-within", "1d"], "--full-within requires --growth"),
        (["--growth", "--nagios"], "--growth and --nagios cannot be combined"),
        (["--growth", "--by", "rack"], "--growth cannot be combined with --by rack"),
    ],
)
def test_incompatible_options_are_refused(
    run_cli: Callable[..., Any], tmp_path: Path, words: list[str], message: str
) -> None:
    """One clear line."""
    run_cli("inspect", "--record", "--snapshot", snapshot(tmp_path, 1))
    refused = run_cli("inspect", "--snapshot", snapshot(tmp_path, 4), *words)
    assert refused.code in (2, 3)
    assert message in refused.err + refused.out


@pytest.mark.parametrize("cluster_id", ["imported", ""])
def test_clusters_of_unknown_id_share_no_history(run_cli: Callable[..., Any], tmp_path: Path, cluster_id: str) -> None:
    """The growth from one cluster to another would be nonsense: recording is refused, and what to do is said."""
    for hour in (1, 5):
        path = Path(snapshot(tmp_path, hour))
        path.write_text(path.read_text().replace('"growing"', f'"{cluster_id}"'))
        shown = run_cli("inspect", "--record", "--snapshot", str(path))
        assert (shown.code, bool(shown.out)) == (1, True)
        says = "a snapshot without a cluster id has no history: import it with --cluster-id ID"
        assert f"history not recorded: {says}" in shown.err
    assert not (tmp_path / "state" / "history").exists()
    growth = run_cli("inspect", "--growth", "--snapshot", str(path))
    assert (growth.code, says in growth.err) == (1, True)


def test_growth_by_a_wrong_grouping_is_refused_at_once(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A mistake on the command line is reported before the cluster is read, and records nothing."""
    refused = run_cli("inspect", "--record", "--growth", "--by", "rack", "--snapshot", snapshot(tmp_path, 1))
    assert (refused.code, "--growth cannot be combined with --by rack" in refused.err) == (2, True)
    assert not (tmp_path / "state" / "history").exists()


def test_a_page_plots_recorded_and_forecast_sizes(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Each disk has a chart with both lines, the interval and the limit; 'advise' shows the same charts."""
    for hour in (1, 2, 3, 4):
        assert run_cli("inspect", "--record", "-q", "--snapshot", snapshot(tmp_path, hour)).code == 0
    words = ("--snapshot", snapshot(tmp_path, 5), "-o", "html")
    growth, advice = run_cli("inspect", "--growth", *words).out, run_cli("advise", *words).out
    assert "full in 15 h" in growth
    for page in (growth, advice):
        assert page.count("<svg") == page.count('class="past"') == page.count('class="future"') == 1
        assert page.count('class="limit"') == 1
