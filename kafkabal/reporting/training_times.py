"""Training times from the data that each policy left on the brokers."""

from __future__ import annotations

from collections.abc import Iterator

from kafkabal.reporting.report import Column, Table, ValueKind
from kafkabal.simulator import PolicyComparison, PolicyRuns, TrainingSetup, TrainingTime, training_time


def training_columns(simulated: PolicyComparison) -> Iterator[Column]:
    """Columns for a single storage, for programs; people see the table."""
    has_one_storage = len(simulated.training) == 1
    setups = simulated.training.values()
    times = [_training(simulated, runs, *setups) if has_one_storage else None for runs in simulated.policies]
    yield Column(key="load_s", title="", values=[time and time.load_s for time in times])
    yield Column(key="train_s", title="", values=[time and time.train_s for time in times])
    yield Column(key="training_loss", title="", values=[time and time.slowdown for time in times])
    yield Column(key="inference_s", title="", values=[time and time.inference_s for time in times])


def training_tables(simulated: PolicyComparison) -> Iterator[Table]:
    """One row per policy and storage."""
    if not simulated.training:
        return
    rows = [(runs, name, setup) for runs in simulated.policies for name, setup in simulated.training.items()]
    times = [_training(simulated, runs, setup) for runs, _, setup in rows]
    yield Table(
        key="training",
        columns=(
            Column(key="policy", title="policy", values=[runs.label for runs, _, _ in rows], label=True),
            Column(key="storage", title="storage", values=[name for _, name, _ in rows], label=True),
            Column(key="load_s", title="load", kind=ValueKind.DURATION, values=[time.load_s for time in times]),
            Column(key="train_s", title="train", kind=ValueKind.DURATION, values=[time.train_s for time in times]),
            Column(
                key="inference_s", title="inference", kind=ValueKind.DURATION, values=[t.inference_s for t in times]
            ),
            Column(
                key="waiting_fraction",
                title="waiting",
                kind=ValueKind.PERCENT,
                values=[t.waiting_fraction for t in times],
            ),
            Column(
                key="training_loss", title="slowdown", kind=ValueKind.PERCENT, values=[time.slowdown for time in times]
            ),
        ),
    )


def _training(simulated: PolicyComparison, runs: PolicyRuns, setup: TrainingSetup) -> TrainingTime:
    """Mean over the seeds of training from all live brokers, one shard each."""
    return TrainingTime.mean(
        [
            training_time(
                run.led_bytes[run.live],
                setup.job_on(run.record_log_bytes),
                setup.profile,
                setup.rates(simulated.view.broker_id[run.live]),
            )
            for run in runs.runs
        ]
    )
