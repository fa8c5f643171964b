"""A disk that fails during a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from kafkabal.executor.run_options import Timeouts
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR
from tests.live.executor.stage import Stage


def test_destination_log_dir_goes_offline(stage: Stage) -> None:
    """The dir is named while the rest continues; the run ends incomplete (1) without throttles, and resumes later."""
    lost, (move, *_) = stage.moving(0), stage.plan.partitions
    broker, path = next((b, d) for b, d in zip(move.replicas, move.log_dirs, strict=True) if d != ANY_DIR)
    timeouts = Timeouts(poll_s=0.25, broker_grace_s=2.0, broker_return_s=4.0, room_s=3.0)
    process = stage.begin(replace(stage.slow, timeouts=timeouts))
    stage.until(lambda: stage.in_flight(lost))
    with _offline(stage, broker, next(d for d in stage.sandbox.log_dirs(broker) if str(d) == path)):
        stage.until(lambda: not _is_held(stage, lost, broker))
        stage.hasten()
        code, said = process.end()
        assert code == 1
        assert f"'{lost}', 'log dir {path} of broker {broker} is offline" in said, said
        assert "all throttles restored" in said
        stage.assert_as_planned(lost)
    stage.finish("resume")
    stage.assert_as_planned()


def test_dry_run_on_a_cluster_with_a_failed_log_dir(stage: Stage) -> None:
    """Each request of a repair is shown once; the dry run ends, and what it cannot achieve sets the exit code."""
    lost = stage.moving(0)
    path = stage.start[lost][2][1]
    with _offline(stage, 1, Path(path)):
        stage.until(lambda: lost not in {r[:2] for r in stage.cluster.replica_logs([1], [lost])[0]})
        shown = stage.command("--repair-only", "--dry-run", "--topics", stage.moves, "--throttle", "50MB")
        requests = [line.split(" s  ", 1)[1] for line in shown.stdout.splitlines() if " s  " in line]
        moves = [request for request in requests if request.startswith("Alter")]
        assert moves, shown.stdout + shown.stderr
        assert len(moves) == len(set(moves)), shown.stdout
        assert shown.returncode in (0, 3), shown.stderr


def _is_held(stage: Stage, name: TopicPartition, broker: int) -> bool:
    logs, silent = stage.cluster.replica_logs([broker], [name])
    return bool(logs or silent)


@contextmanager
def _offline(stage: Stage, broker: int, log_dir: Path) -> Iterator[None]:
    """Make a broker find a file in place of its log dir, until it is restarted with the dir restored."""
    aside = log_dir.with_name(f"{log_dir.name}-aside")
    log_dir.rename(aside)
    log_dir.touch()
    try:
        yield
    finally:
        stage.sandbox.kill(broker)
        log_dir.unlink()
        aside.rename(log_dir)
        stage.sandbox.start(broker)
