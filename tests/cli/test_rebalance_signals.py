"""Signals during a run: the first stops it gracefully, the second aborts it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from kafkabal.cli.commands.rebalance.stop_signals import stop_on_signals
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.safety.stop_request import HardStop, StopReason, StopSwitch
from tests.cli.simulated import SLOWLY, half_empty_cluster, simulate


@pytest.mark.parametrize(
    ("number", "reason"), [(signal.SIGINT, StopReason.INTERRUPT), (signal.SIGTERM, StopReason.TERMINATE)]
)
def test_first_asks_second_ends(number: signal.Signals, reason: StopReason) -> None:
    """The first signal sets the switch and prints a message; the second raises; the old handlers are restored
    afterwards."""
    switch, said, clock = StopSwitch(), [], count(step=1.0)
    before = signal.getsignal(number)
    with stop_on_signals(switch, said.append, clock.__next__):
        os.kill(os.getpid(), number)
        assert switch.reason is reason
        assert said == [reason]
        with pytest.raises(HardStop):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_copy_of_a_signal_does_not_abort(number: signal.Signals) -> None:
    """``timeout`` sends its signal twice at once, which counts as one; a later signal is the second."""
    switch, said, times = StopSwitch(), [], iter([10.0, 10.01, 10.5])
    with stop_on_signals(switch, said.append, times.__next__):
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert len(said) == 1
        with pytest.raises(HardStop):
            os.kill(os.getpid(), number)


def test_ignored_signal_stays_ignored() -> None:
    """A SIGHUP that was ignored (nohup) does not stop a run."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        switch = StopSwitch()
        with stop_on_signals(switch, lambda _: None):
            os.kill(os.getpid(), signal.SIGHUP)
        assert switch.reason is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_hangup_never_aborts() -> None:
    """However often the terminal hangs up, even after a SIGTERM, the run is only asked to stop."""
    switch, said = StopSwitch(), []
    with stop_on_signals(switch, said.append):
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
            os.kill(os.getpid(), number)
    assert said == [StopReason.TERMINATE]


def test_a_signal_as_the_last_throttle_is_restored(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is that of the signal, but no hint says to resume: a resume would say that the run is complete."""
    simulation = simulate(half_empty_cluster(), run_cli, monkeypatch)
    alter_configs, sent = InMemoryCluster.alter_configs, []

    def interrupted(*arguments: Any) -> Any:
        faults = alter_configs(*arguments)
        if not any(broker.own_configs for broker in simulation.memory.kafka.parts.brokers.values()) and not sent:
            sent.append(signal.raise_signal(signal.SIGTERM))
        return faults

    monkeypatch.setattr(InMemoryCluster, "alter_configs", interrupted)
    shown = simulation.run(*SLOWLY)
    assert (shown.code, len(sent)) == (143, 1)
    assert "hint" not in shown.err
    assert "is complete: nothing to resume" in simulation.run("rebalance", "resume", "--yes").err
