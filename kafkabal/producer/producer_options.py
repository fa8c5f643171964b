"""The routing part of a producer's configuration: splits the keys that begin with ``kafkabal.`` from librdkafka's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import getrandbits
from typing import Any, Final

from kafkabal.config import DEFAULT_POLICY, DEFAULT_REFRESH_S, DEFAULT_ROUTED_SCORES, LEAST_REFRESH_S, MOST_REFRESH_S
from kafkabal.errors import ConfigError, UsageError
from kafkabal.plain_functions import function_fault
from kafkabal.producer.policy_for_librdkafka import client_policy
from kafkabal.producer.slot_router import RoutingStatus
from kafkabal.routing import Feedback, Input, PolicyChoice, load_policy
from kafkabal.scoring import Need, WeightedScore, load_scores
from kafkabal.wording import choice_hint

PREFIX: Final = "kafkabal."
ONLY_ERRORS: Final = "delivery.report.only.error"
_SEED_BITS: Final = 32
_KEYS: Final = (
    "any.key.order",
    "first.view.ms",
    "metrics_cb",
    "policy",
    "profile",
    "rack",
    "refresh.ms",
    "scores",
    "seed",
)
_LIKENESS: Final = 0.8
"""The prefix alone makes all keys alike by 0.72."""
_FIRST_VIEW_MS: Final = 2_000
"""Of 70 first readings on two cores with a load of 20, one took longer (2026-11); a cluster that needs longer does not
hold up a program that has just started."""
_MOST_MS: Final = MOST_REFRESH_S * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingOptions:
    """How a producer routes."""

    policy: PolicyChoice
    scores: tuple[WeightedScore, ...]
    rack: str | None
    profile: str | None
    refresh_s: float
    first_view_s: float
    """How long the first record of a topic waits for the first view, in seconds."""
    any_key_order: bool
    seed: int
    hears_of_deliveries: bool
    """Whether the client calls back for records that are delivered, too."""
    metrics: Callable[[RoutingStatus], object]
    """Called by the background thread for every topic after each refresh."""


def split_options(config: Mapping[Any, Any]) -> tuple[RoutingOptions, dict[str, Any]]:
    """Routing options, and the remaining settings for librdkafka.

    Raises
    ------
    UsageError
        Naming the key that is unknown or has an invalid value.
    """
    # librdkafka refuses keys that are not text
    names = [name for name in config if isinstance(name, str) and name.startswith(PREFIX)]
    own = {name.removeprefix(PREFIX): config[name] for name in names}
    rest = {name: value for name, value in config.items() if name not in names}
    for name in own:
        if name not in _KEYS:
            hint = choice_hint(PREFIX + name, [PREFIX + key for key in _KEYS], likeness=_LIKENESS)
            raise UsageError(f"unknown setting: {PREFIX}{name}", hint=hint)
    with naming("policy"):
        policy = _policy(own.get("policy", DEFAULT_POLICY), rest)
    with naming("scores"):
        scores = _scores(own.get("scores", DEFAULT_ROUTED_SCORES))
    return RoutingOptions(
        policy=policy,
        scores=scores,
        rack=_rack(own, policy),
        profile=_text(own, "profile"),
        refresh_s=_number(own, "refresh.ms", DEFAULT_REFRESH_S * 1000, LEAST_REFRESH_S * 1000) / 1000,
        first_view_s=_number(own, "first.view.ms", _FIRST_VIEW_MS, 0) / 1000,
        any_key_order=_flag(own, "any.key.order"),
        seed=int(_number(own, "seed", getrandbits(_SEED_BITS), 0, 2.0**_SEED_BITS)),
        hears_of_deliveries=rest.get(ONLY_ERRORS) is not True,
        metrics=_callable(own, "metrics_cb"),
    ), rest


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the setting in an error about its value."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{PREFIX}{name}: {error.message}", hint=error.hint) from error
    except UsageError as error:
        raise UsageError(f"{PREFIX}{name}: {error.message}", hint=error.hint) from error


def _policy(text: Any, client: Mapping[str, Any]) -> PolicyChoice:
    if not isinstance(text, str):
        raise UsageError(f"not a name: {text!r}", hint="see 'kafkabal policies'")
    choice = load_policy(text)
    if choice.about.feedback is Feedback.ACKS and client.get(ONLY_ERRORS) is True:
        raise UsageError(
            f"{choice.about.name!r} learns from all delivery reports, which {ONLY_ERRORS} suppresses",
            hint="leave the setting out, or choose a policy that does not learn from acks (see 'kafkabal policies')",
        )
    return client_policy(choice, client).checked()


def _scores(value: Any) -> tuple[WeightedScore, ...]:
    texts = [text.strip() for text in value.split(",")] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"not names of scores: {value!r}", hint="write them like disk=3,leaders")
    scores = load_scores(texts)
    for weighted in scores:
        if Need.PROMETHEUS in weighted.score.needs:
            raise UsageError(
                f"{weighted.score.name!r} needs a Prometheus server, which a producer does not query",
                hint="choose another score, or send with 'kafkabal produce TOPIC FOLDER --prometheus URL'",
            )
    return scores


def _rack(own: Mapping[str, Any], policy: PolicyChoice) -> str | None:
    rack = _text(own, "rack")
    if rack is not None and not policy.may_use(Input.RACKS):
        raise UsageError(
            f"{PREFIX}rack: policy {policy.about.name!r} uses no rack", hint="set kafkabal.policy to rack-local"
        )
    return rack


def _text(own: Mapping[str, Any], name: str) -> str | None:
    value = own.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise UsageError(f"{PREFIX}{name}: not a text: {value!r}")
    return value


def _number(own: Mapping[str, Any], name: str, default: float, least: float, most: float = _MOST_MS) -> float:
    value = own.get(name, default)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{PREFIX}{name}: not a number: {value!r}") from None
    if not least <= number <= most:
        raise UsageError(f"{PREFIX}{name}: {value!r} is not within {least:.0f} to {most:.0f}")
    return number


def _flag(own: Mapping[str, Any], name: str) -> bool:
    value = own.get(name, False)
    word = str(value).lower()
    if word not in ("true", "false"):
        raise UsageError(f"{PREFIX}{name}: expected true or false, not {value!r}")
    return word == "true"


def _callable(own: Mapping[str, Any], name: str) -> Callable[[RoutingStatus], object]:
    value = own.get(name, _ignore)
    if (fault := function_fault(value)) is not None:
        raise UsageError(f"{PREFIX}{name}: {fault}: {value!r}")
    called: Callable[[RoutingStatus], object] = value
    return called


def _ignore(_: RoutingStatus) -> None:
    """The default metrics callback."""
