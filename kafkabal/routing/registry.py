"""Finds policies by name: built-in, from the entry-point group ``kafkabal.policies``, or ``package.module:object``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from kafkabal.config import LINGER_MS
from kafkabal.errors import UsageError, described, import_hint
from kafkabal.routing.plugin_policy import check_about, naming_policy_faults, plugin_policy
from kafkabal.routing.policy_protocol import About, Context, Input, Policy
from kafkabal.wording import choice_hint

ENTRY_POINT_GROUP = "kafkabal.policies"

OptionValue: TypeAlias = "int | float | bool | str"

BUILT_IN: Mapping[str, str] = {
    "random": "kafkabal.routing.policies.random:Random",
    "round-robin": "kafkabal.routing.policies.round_robin:RoundRobin",
    "key-hash": "kafkabal.routing.policies.key_hash:KeyHash",
    "default": "kafkabal.routing.policies.librdkafka_default:Default",
    "sticky": "kafkabal.routing.policies.sticky:Sticky",
    "uniform-sticky": "kafkabal.routing.policies.uniform_sticky:UniformSticky",
    "adaptive": "kafkabal.routing.policies.adaptive:Adaptive",
    "join-idle-queue": "kafkabal.routing.policies.join_idle_queue:JoinIdleQueue",
    "c3": "kafkabal.routing.policies.c3:C3",
    "prequal": "kafkabal.routing.policies.prequal:Prequal",
    "score": "kafkabal.routing.policies.score:ScoreWeighted",
    "smooth-weighted": "kafkabal.routing.policies.smooth_weighted:SmoothWeighted",
    "astraea": "kafkabal.routing.policies.astraea:Astraea",
    "rack-local": "kafkabal.routing.policies.rack_local:RackLocal",
    "power-of-d": "kafkabal.routing.policies.power_of_d:PowerOfD",
    "least-loaded": "kafkabal.routing.policies.least_loaded:LeastLoaded",
    "pkg": "kafkabal.routing.policies.pkg:PartialKeyGrouping",
    "d-choices": "kafkabal.routing.policies.d_choices:DChoices",
    "w-choices": "kafkabal.routing.policies.w_choices:WChoices",
    "bounded-load": "kafkabal.routing.policies.bounded_load:BoundedLoad",
}

_LONGEST_NUMBER = 40
"""Characters: no float needs more than 24 to be distinct from its neighbours."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy with the options given for it; creates one instance per producer."""

    make: Any
    options: Mapping[str, OptionValue]
    label: str
    """As the user wrote it, such as ``power-of-d:d=3``."""
    plug_in: str | None = None
    """Name of a policy that is not built in; its errors name it."""

    @property
    def about(self) -> About:
        """The policy's description."""
        about: About = self.make.about
        return about

    def may_use(self, an_input: Input) -> bool:
        """Whether an input can change where records go; assumed of a plug-in, which may read all of the view."""
        return self.plug_in is not None or an_input in self.about.inputs | self.about.optional_inputs

    def with_client_settings(self, **settings: OptionValue) -> PolicyChoice:
        """The same policy with its clients' settings as options, where it has such options and none was given."""
        known = options_of(self.make) if self.plug_in is None else {}
        missing = {name: value for name, value in settings.items() if name.replace("_", "-") in known}
        return replace(self, options={**missing, **self.options})

    def with_client_linger(self, linger_ms: float) -> PolicyChoice:
        """The same policy for clients with this linger time, 0 or more."""
        # librdkafka stays with a partition for twice its linger time, unless that is set too
        sticky_linger_ms = min(2.0 * linger_ms, LINGER_MS.high)
        return self.with_client_settings(linger_ms=linger_ms, sticky_linger_ms=sticky_linger_ms)

    def checked(self) -> PolicyChoice:
        """The same, after creating and discarding an instance, so that a wrong option is refused before there are
        records.

        Raises
        ------
        UsageError
            As :meth:`create`.
        """
        self.create(Context())
        return self

    def create(self, context: Context) -> Policy:
        """A new instance; :meth:`~kafkabal.routing.policy_protocol.Policy.refresh` it before use.

        Raises
        ------
        UsageError
            If an option is out of its range, or a plug-in cannot create it.
        """
        make: Callable[[], Policy] = partial(self.make, context, **self.options)
        return make() if self.plug_in is None else plugin_policy(make, self.plug_in, self.about)


def policy_names() -> tuple[str, ...]:
    """Sorted names of the built-in policies and of those in installed packages."""
    return tuple(sorted(_locations()))


def load_policy(text: str) -> PolicyChoice:
    """Load a policy written as ``NAME`` or ``NAME:OPTION=VALUE,OPTION=VALUE``.

    The name may also be ``package.module:object``.

    Raises
    ------
    UsageError
        If the policy or an option is unknown, or a value has the wrong type.
    """
    name, _, settings = text.partition(":")
    location = BUILT_IN.get(name) or _locations().get(name)
    if location is None and settings and "=" not in settings.partition(":")[0]:
        attribute, _, settings = settings.partition(":")
        name = location = f"{name}:{attribute}"
    if location is None:
        raise UsageError(f"unknown policy: {name!r}", hint=choice_hint(name, policy_names()))
    make = _import_policy(location)
    if location in BUILT_IN.values():
        return PolicyChoice(make, _parse_options(name, settings, options_of(make)), text)
    with naming_policy_faults(name, "signature"):
        options = _parse_options(name, settings, options_of(make))
    return PolicyChoice(make, options, text, name)


def options_of(make: Any) -> Mapping[str, OptionValue]:
    """Options of a policy with their defaults: the keyword-only parameters of its class."""
    parameters = inspect.signature(make).parameters.values()
    return {p.name.replace("_", "-"): p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def _parse_options(name: str, settings: str, known: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for setting in settings.split(",") if settings else ():
        option, _, value = setting.partition("=")
        if option.replace("-", "_") in options:
            raise UsageError(f"policy {name}: duplicate option: {option!r}")
        if option not in known:
            hint = choice_hint(option, known) if known else None
            raise UsageError(f"policy {name}: unknown option: {option!r}", hint=hint)
        options[option.replace("-", "_")] = _parse_value(f"policy {name}: {setting!r}", value, known[option])
    return options


def _parse_value(title: str, value: str, default: OptionValue) -> OptionValue:
    kind = type(default)
    if kind is bool:
        if value in ("true", "false"):
            return value == "true"
        raise UsageError(f"{title}: expected true or false")
    try:
        if not value.isascii() or "_" in value or len(value) > _LONGEST_NUMBER:
            raise ValueError  # Python would accept more than people write
        if kind is float and value.endswith("%"):
            return float(value.removesuffix("%")) / 100
        return kind(value)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise UsageError(f"{title}: expected {expected}") from None


def _locations() -> dict[str, str]:
    # scanning every installed package takes longer than anything else a command does before its work
    from importlib.metadata import entry_points

    offered = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**offered, **BUILT_IN}


def _import_policy(location: str) -> Any:
    module_name, _, attribute = location.partition(":")
    try:
        make = getattr(import_module(module_name), attribute)
    except ImportError as error:
        raise UsageError(f"cannot load policy {location!r}: {error}", hint=import_hint(error)) from error
    except (Exception, SystemExit) as error:  # a plug-in may fail in any way, and the user has to fix that
        raise UsageError(f"cannot load policy {location!r}: {described(error)}") from error
    missing = [part for part in ("about", "refresh", "pick", "pick_batch", "acked") if not hasattr(make, part)]
    if missing:
        raise UsageError(f"not a policy: {location!r}: missing {missing[0]!r}", hint="see 'kafkabal help routing'")
    check_about(make.about, location)
    return make
