"""Guards a plug-in policy: its errors name the plug-in, and whatever it picks must be a partition.

Built-in policies are not guarded: their records cost nothing extra.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from operator import index
from textwrap import shorten
from types import FunctionType
from typing import Any, Final, cast

import numpy as np

from kafkabal.errors import KafkabalError, UsageError
from kafkabal.model import I32
from kafkabal.routing.compiled_kernels import compiled, kernel
from kafkabal.routing.per_record_policy import PerRecordPolicy, learn_nothing
from kafkabal.routing.policy_protocol import About, Feedback, Input, Policy, RecordBatch
from kafkabal.routing.routing_view import RoutingView
from kafkabal.scoring import reporting_plugin_errors

_NONE: Final = -1
_LONGEST: Final = 300
"""Longest error text in characters: kernel compilers are verbose."""
_HINT: Final = "see 'kafkabal help routing'"


class PolicyFaultError(UsageError):
    """A plug-in policy raised an error, or picked something that is not a partition."""


def naming_policy_faults(name: str, part: str) -> AbstractContextManager[None]:
    """Run code of a policy; an error becomes one line that names the policy and the method.

    Raises
    ------
    PolicyFaultError
        If it raises anything but one of our errors or a signal, or tries to end the process.
    """
    return reporting_plugin_errors(f"policy {name!r}: its {part}", hint=_HINT, kind=PolicyFaultError, longest=_LONGEST)


class _Picks(np.ndarray[Any, np.dtype[np.int32]]):
    """Accepts whole numbers only, where an array would silently truncate fractions."""

    def __setitem__(self, rows: Any, picks: Any) -> None:
        given = np.asarray(picks)
        if given.dtype.kind not in "iu":
            raise TypeError(f"partitions are whole numbers, not {given.dtype}")
        super().__setitem__(rows, picks)


class PluginPolicy:
    """Wraps a :class:`~kafkabal.routing.policy_protocol.Policy` of a plug-in.

    Parameters
    ----------
    name
        As the user wrote it.
    about
        The plug-in's description, already checked.
    """

    def __init__(self, policy: Policy, name: str, about: About) -> None:
        self.about = about
        self.name = name
        self.policy = policy
        self._n_partitions = 0
        self._fault: KafkabalError | None = None

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        # before the policy sees the view: then another thread may at once pick a partition that is new
        self._n_partitions = view.n_partitions
        with naming_policy_faults(self.name, "refresh"):
            self.policy.refresh(view)

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        if self._fault is not None:
            raise self._fault
        with naming_policy_faults(self.name, "pick"):
            picked = self.policy.pick(key, size_bytes)
        return self._check_partition("pick", picked)

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        out.fill(_NONE)
        with naming_policy_faults(self.name, "pick_batch"):
            self.policy.pick_batch(records, out.view(_Picks))
        wrong = np.flatnonzero((out < 0) | (out >= self._n_partitions))
        if wrong.size:
            self._check_partition("pick_batch", out[wrong[0]])

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.acked`.

        An error is reported at the next pick: counting acknowledgements must not fail.
        """
        try:
            with naming_policy_faults(self.name, "acked"):
                self.policy.acked(partition, size_bytes, latency_s)
        except KafkabalError as error:
            self._fault = self._fault or error

    def kernels(self) -> tuple[Callable[..., int], Callable[..., None]]:
        """``pick_kernel`` and ``learn`` of a :class:`~kafkabal.routing.per_record_policy.PerRecordPolicy`, guarded."""
        with naming_policy_faults(self.name, "kernels"):
            raw_pick, raw_learn = _kernels_of_class(self.policy)

        def pick_kernel(*given: Any) -> int:
            with naming_policy_faults(self.name, "pick_kernel"):
                picked = raw_pick(*given)
            return self._check_partition("pick_kernel", picked)

        def learn(*given: Any) -> None:
            with naming_policy_faults(self.name, "learn"):
                raw_learn(*given)

        return pick_kernel, learn

    def compiled_kernels(self) -> tuple[Any, Any]:
        """The same in machine code; an invalid partition raises ValueError there."""
        with naming_policy_faults(self.name, "kernels"):
            pick_kernel, learn = _kernels_of_class(self.policy)
            return compiled(_with_range_check(pick_kernel, self._n_partitions)), compiled(learn)

    def _check_partition(self, part: str, picked: Any) -> int:
        """The picked partition as an int.

        Raises
        ------
        PolicyFaultError
            If it is not a partition of the topic.
        """
        try:
            partition = index(picked)
        except TypeError:
            raise self._invalid_partition(part, picked) from None
        if not 0 <= partition < self._n_partitions:
            raise self._invalid_partition(part, partition)
        return partition

    def _invalid_partition(self, part: str, picked: object) -> PolicyFaultError:
        what = f"{shorten(repr(picked), _LONGEST, placeholder=' ...')} for a record"
        partitions = f"the partitions are 0 to {self._n_partitions - 1}"
        return PolicyFaultError(f"policy {self.name!r}: its {part} gave {what}, and {partitions}", hint=_HINT)


def plugin_policy(make: Callable[[], Policy], name: str, about: About) -> Policy:
    """Create an instance and guard it.

    Raises
    ------
    UsageError
        If an option is out of its range, or the instance cannot be created.
    """
    with naming_policy_faults(name, "class"):
        policy = make()
    return PluginPolicy(policy, name, about)


def check_about(about: object, name: str) -> None:
    """Check that a plug-in describes its policy completely.

    Raises
    ------
    UsageError
        If it does not.
    """
    if not isinstance(about, About):
        raise UsageError(f"not a policy: {name!r}: its 'about' must be an About", hint=_HINT)
    with naming_policy_faults(name, "about"):
        unknown = sorted({*about.inputs} - {*Input})
    if unknown or not isinstance(about.feedback, Feedback):
        what = f"inputs {unknown[0]!r}" if unknown else f"feedback {about.feedback!r}"
        raise UsageError(f"not a policy: {name!r}: its 'about' has unknown {what}", hint=_HINT)


def per_record_policy_of(policy: Policy) -> PerRecordPolicy | None:
    """The policy, guarded or not, if it picks by kernels; else None."""
    inner = policy.policy if isinstance(policy, PluginPolicy) else policy
    return inner if isinstance(inner, PerRecordPolicy) else None


def kernels_of(policy: Policy, *, compile_it: bool) -> tuple[Any, Any]:
    """``pick_kernel`` and ``learn`` of a policy that picks by kernels; a plug-in's are guarded."""
    if isinstance(policy, PluginPolicy):
        return policy.compiled_kernels() if compile_it else policy.kernels()
    pick_kernel, learn = _kernels_of_class(policy)
    return (compiled(pick_kernel), compiled(learn)) if compile_it else (pick_kernel, learn)


def naming_faults_of(policy: Policy, part: str) -> AbstractContextManager[None]:
    """Name the plug-in in errors raised by its code among ours; no-op for built-in policies."""
    return naming_policy_faults(policy.name, part) if isinstance(policy, PluginPolicy) else nullcontext()


def _kernels_of_class(policy: Policy) -> tuple[Any, Any]:
    kind = type(cast("PerRecordPolicy", policy))
    return kind.pick_kernel, kind.learn or learn_nothing


@cache
def _with_range_check(pick_kernel: Any, n_partitions: int) -> Any:
    """A kernel that checks what another one picks."""
    names = {**_pick_in_range.__globals__, "_pick_kernel": pick_kernel, "_partitions": n_partitions}
    return kernel(FunctionType(_pick_in_range.__code__, names, _pick_in_range.__name__))


# placeholders that _with_range_check replaces
_pick_kernel: Any = None
_partitions: int = 0


def _pick_in_range(state: Any, size_bytes: int, hashes: Any, uniforms: Any, now_s: float) -> int:
    partition: int = _pick_kernel(state, size_bytes, hashes, uniforms, now_s)
    if partition < 0 or partition >= _partitions:
        raise ValueError("no partition of the topic picked")
    return partition
