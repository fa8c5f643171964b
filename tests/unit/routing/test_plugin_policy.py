"""Plug-in policies: whatever they do wrong is reported as theirs, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from kafkabal.errors import OperationError, UsageError
from kafkabal.model.cluster_state import I32
from kafkabal.routing.compiled_kernels import is_available, kernel
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.plugin_policy import PluginPolicy, PolicyFaultError
from kafkabal.routing.policies.random import Random
from kafkabal.routing.policy_protocol import About, Context, Feedback, Policy, PolicyBase, RecordBatch
from kafkabal.routing.registry import PolicyChoice, load_policy
from kafkabal.routing.routing_view import RoutingView
from kafkabal.simulator.simulate_policy import SimulationOptions, simulate
from kafkabal.simulator.workload import FixedSize, Workload

HERE = __name__
NEEDS_NUMBA = pytest.param(True, marks=pytest.mark.skipif(not is_available(), reason="numba is not installed"))


class First(PolicyBase):
    """The first partition, always."""

    about: ClassVar = About(name="first", meaning="the first partition", source="a test")

    def refresh(self, view: RoutingView) -> None:
        """Nothing to know."""

    def pick(self, key: bytes | None, size_bytes: int) -> Any:
        """The first."""
        return 0

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """The first."""
        out[:] = 0


class Columns(NamedTuple):
    """State of a policy with kernels."""

    next: list[int]


class Kernels(PerRecordPolicy):
    """Learns, by kernels that others put in."""

    about: ClassVar = About(name="kernels", meaning="the next", source="a test", feedback=Feedback.ACKS)

    def refresh(self, view: RoutingView) -> None:
        """Start."""
        self.state = Columns([0])


@kernel
def pick_first(state: Any, size_bytes: int, hashes: Any, uniforms: Any, now_s: float) -> int:
    """A good one."""
    return 0


@kernel
def pick_ever_further(state: Any, size_bytes: int, hashes: Any, uniforms: Any, now_s: float) -> int:
    """A bad one."""
    state.next[0] += 1
    return state.next[0]  # type: ignore[no-any-return]


@kernel
def pick_nowhere(state: Any, size_bytes: int, hashes: Any, uniforms: Any, now_s: float) -> int:
    """Cannot be run, nor compiled."""
    return state.nothing[0]  # type: ignore[no-any-return]


@kernel
def learn_wrongly(state: Any, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """Cannot be run, nor compiled."""
    state.nothing[0] = partition


def plug_in(base: type, **parts: Any) -> PolicyChoice:
    """A policy that differs from another in some parts."""
    return PolicyChoice(type("Own", (base,), parts), {}, "own:x=1", "own")


def fresh(view: RoutingView, **parts: Any) -> Policy:
    """One that has seen the cluster."""
    policy = plug_in(First, **parts).create(Context())
    policy.refresh(view)
    return policy


def raising(error: BaseException) -> Callable[..., Any]:
    """A part that fails."""

    def fail(*_: object) -> None:
        raise error

    return fail


def test_only_plug_ins_are_guarded() -> None:
    """A built-in policy is itself, by whatever name it is asked for."""
    for text in ("random", "kafkabal.routing.policies.random:Random"):
        assert type(load_policy(text).create(Context())) is Random
    guarded = load_policy(f"{HERE}:First").create(Context())
    assert isinstance(guarded, PluginPolicy)
    assert guarded.about is First.about


def test_a_good_policy_is_not_disturbed(uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """Partitions pass unchanged, as numbers of any type."""
    policy = fresh(uneven_view, pick=lambda *_: np.int64(7))
    out = np.full(len(mixed_records), 5, np.int32)
    policy.pick_batch(mixed_records, out)
    assert policy.pick(None, 1) == 7
    assert not out.any()


@pytest.mark.parametrize("error", [RuntimeError("boom\nbang"), SystemExit(0)])
@pytest.mark.parametrize("part", ["refresh", "pick", "pick_batch"])
def test_a_part_that_raises_is_named(
    uneven_view: RoutingView, mixed_records: RecordBatch, part: str, error: BaseException
) -> None:
    """Policy and part, in one line; it cannot end the command as if all were well."""
    policy = plug_in(First, **{part: raising(error)}).create(Context())
    given = {
        "refresh": (uneven_view,),
        "pick": (None, 1),
        "pick_batch": (mixed_records, np.empty(len(mixed_records), np.int32)),
    }
    with pytest.raises(PolicyFaultError) as caught:
        getattr(policy, part)(*given[part])
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"
    assert caught.value.message == f"policy 'own': its {part} raised {said}"
    assert caught.value.hint == "see 'kafkabal help routing'"


def test_signals_and_errors_of_ours_reach_through(uneven_view: RoutingView) -> None:
    """Ctrl-C within plug-in code is Ctrl-C; errors of our types pass unchanged."""
    for error in (KeyboardInterrupt(), OperationError("no partition has a leader")):
        with pytest.raises(type(error)):
            fresh(uneven_view, refresh=raising(error))


@pytest.mark.parametrize(
    ("picked", "said"),
    [(8, "8"), (-1, "-1"), (2**70, str(2**70)), (1.5, "1.5"), (None, "None"), ("0", "'0'"), (np.int32(9), "9")],
)
def test_invalid_partitions_are_refused(uneven_view: RoutingView, picked: Any, said: str) -> None:
    """The error has the pick and the allowed values."""
    policy = fresh(uneven_view, pick=lambda *_: picked)
    with pytest.raises(PolicyFaultError) as caught:
        policy.pick(None, 1)
    assert caught.value.message == f"policy 'own': its pick gave {said} for a record, and the partitions are 0 to 7"


@pytest.mark.parametrize(
    ("filled", "said"),
    [
        (8, "gave 8 for a record"),
        (-3, "gave -3 for a record"),
        (0.5, "raised TypeError: partitions are whole numbers, not float64"),
        (np.nan, "raised TypeError: partitions are whole numbers, not float64"),
        ("a", "raised TypeError: partitions are whole numbers, not <U1"),
        (None, "raised TypeError: partitions are whole numbers, not object"),
        (2**40, "raised OverflowError"),
        (np.zeros(3, np.int32), "raised ValueError: could not broadcast"),
    ],
)
def test_invalid_partitions_of_a_batch_are_refused(
    uneven_view: RoutingView, mixed_records: RecordBatch, filled: Any, said: str
) -> None:
    """Nothing is silently rounded or truncated."""

    def pick_batch(_: Any, records: RecordBatch, out: I32) -> None:
        out[:] = 0
        out[len(records) // 2 :] = filled

    policy = fresh(uneven_view, pick_batch=pick_batch)
    with pytest.raises(PolicyFaultError, match=f"^policy 'own': its pick_batch {said}"):
        policy.pick_batch(mixed_records, np.empty(len(mixed_records), np.int32))


def test_a_fault_of_an_acknowledgement_is_reported_at_the_next_pick(uneven_view: RoutingView) -> None:
    """Who reports the acknowledgement goes on counting."""
    policy = fresh(uneven_view, acked=raising(ValueError("late")))
    assert policy.pick(None, 1) == 0
    policy.acked(0, 1, 0.1)
    with pytest.raises(PolicyFaultError, match="policy 'own': its acked raised ValueError: late"):
        policy.pick(None, 1)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (None, "its 'about' must be an About"),
        (About(name="a", meaning="b", source="c", inputs={"moon"}), "its 'about' has unknown inputs 'moon'"),  # type: ignore[arg-type]
        (About(name="a", meaning="b", source="c", inputs=None), "its about raised TypeError"),  # type: ignore[arg-type]
        (About(name="a", meaning="b", source="c", feedback="acks"), "its 'about' has unknown feedback 'acks'"),  # type: ignore[arg-type]
    ],
)
def test_declarations_of_a_plug_in_are_validated(monkeypatch: pytest.MonkeyPatch, about: Any, message: str) -> None:
    """When it is loaded, not where it is used."""
    monkeypatch.setattr(First, "about", about)
    with pytest.raises(UsageError, match=message):
        load_policy(f"{HERE}:First")


def test_a_module_that_ends_the_process_cannot_be_loaded(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in that exits on import is an error, not a success."""
    (tmp_path / "policy_exits_at_once.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"cannot load .*: SystemExit: 0"):
        load_policy("policy_exits_at_once:Policy")


@pytest.mark.parametrize("compiled", [False, NEEDS_NUMBA])
@pytest.mark.parametrize(
    ("parts", "in_python", "in_machine_code"),
    [
        (
            {"pick_kernel": pick_ever_further},
            "pick_kernel gave 8 for a record",
            "kernels raised ValueError: no partition",
        ),
        ({"pick_kernel": pick_nowhere}, "pick_kernel raised AttributeError", "kernels raised Typing"),
        ({"pick_kernel": pick_first, "learn": learn_wrongly}, "learn raised AttributeError", "kernels raised Typing"),
        ({}, "kernels raised AttributeError", "kernels raised AttributeError"),
    ],
)
def test_kernels_are_guarded_where_they_are_simulated(
    view_over: Callable[..., RoutingView],
    *,
    parts: dict[str, Any],
    in_python: str,
    in_machine_code: str,
    compiled: bool,
) -> None:
    """In Python as in machine code, which would write beyond its columns."""
    choice = plug_in(Kernels, **{name: staticmethod(part) for name, part in parts.items()})
    workload = Workload(records=50, sizes=FixedSize(1000))
    view = view_over(brokers=4, partitions=8)
    message = in_machine_code if compiled else in_python
    with pytest.raises(PolicyFaultError, match=f"policy 'own': its {message}") as caught:
        simulate(view, choice, workload, SimulationOptions(compiled=compiled))
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("compiled", [False, NEEDS_NUMBA])
def test_kernels_of_a_plug_in_are_simulated_like_others(
    view_over: Callable[..., RoutingView], *, compiled: bool
) -> None:
    """Also one that learns nothing from its views."""
    choice = plug_in(Kernels, pick_kernel=staticmethod(pick_first))
    workload = Workload(records=50, sizes=FixedSize(1000))
    outcome = simulate(view_over(brokers=4, partitions=8), choice, workload, SimulationOptions(compiled=compiled))
    assert outcome.broker_records.sum() == 50
    assert np.count_nonzero(outcome.partition_bytes) == 1
