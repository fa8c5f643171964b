"""Policies found by name, with options."""

from __future__ import annotations

import pytest

from kafkabal.errors import UsageError
from kafkabal.routing.policy_protocol import Context
from kafkabal.routing.registry import load_policy, options_of, policy_names


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_agrees_with_its_declaration(name: str) -> None:
    """Each built-in policy loads under its own name, has a meaning and a source, and starts with its defaults."""
    choice = load_policy(name)

    assert choice.about.name == name
    assert choice.about.meaning
    assert choice.about.source
    choice.create(Context())


def test_built_in_policies_do_not_scan_installed_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A built-in policy loads although looking through packages fails; a name that is not built in is looked for."""

    def fail(group: str) -> None:
        raise LookupError(group)

    monkeypatch.setattr("importlib.metadata.entry_points", fail)

    assert load_policy("score:floor=0.2").about.name == "score"
    with pytest.raises(LookupError, match=r"kafkabal\.policies"):
        load_policy("somebody-elses")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("adaptiv", "unknown policy: 'adaptiv'", "did you mean: adaptive"),
        ("xyzzy", "unknown policy: 'xyzzy'", "choose from: adaptive, "),
        ("power-of-d:e=3", "policy power-of-d: unknown option: 'e'", "choose from: d"),
        ("score:flor=0.2", "policy score: unknown option: 'flor'", "did you mean: floor"),
        ("power-of-d:d=two", "policy power-of-d: 'd=two': expected a whole number", None),
        ("least-loaded:own=maybe", "policy least-loaded: 'own=maybe': expected true or false", None),
        ("no.such.module:Policy", "cannot load", None),
        ("kafkabal.units:parse_bytes", "missing 'about'", "see 'kafkabal help routing'"),
    ],
)
def test_wrong_names_are_refused_in_one_line(text: str, message: str, hint: str | None) -> None:
    """An unknown policy, option or value is named, with what is near."""
    with pytest.raises(UsageError) as error:
        load_policy(text)

    assert message in error.value.message
    assert "\n" not in error.value.message
    assert hint is None or (error.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    "text",
    [
        "power-of-d:d=0",
        "adaptive:batch-size=0",
        "sticky:linger-ms=-1",
        "uniform-sticky:batch-size=0",
        "default:sticky-linger-ms=-5",
        "bounded-load:c=1",
        "c3:clients=0",
        "prequal:quantile=2",
        "prequal:probes=0",
        "score:floor=0",
        "score:horizon=0",
        "smooth-weighted:weight=size",
        "smooth-weighted:ring=0",
        "round-robin:over=racks",
        "astraea:cost=cpu",
        "astraea:lease-s=-1",
        "rack-local:max-skew=-2%",
    ],
)
def test_options_out_of_range_are_refused(text: str) -> None:
    """Every range that an option documents is enforced."""
    with pytest.raises(UsageError):
        load_policy(text).create(Context())


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, option)
        for name in policy_names()
        for option, default in options_of(load_policy(name).make).items()
        if type(default) in (int, float)
    ],
)
@pytest.mark.parametrize("value", ["999999999999999999999", "inf", "1e300", "nan"])
def test_options_that_are_numbers_have_a_limit(name: str, option: str, value: str) -> None:
    """A number that no policy can work with, or none at all, is named with what it may be, in one line."""
    with pytest.raises(UsageError, match=option):
        load_policy(f"{name}:{option}={value}").create(Context())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("score:horizon=inf", "score: horizon must be above 0 and at most 1,000, not inf"),
        ("score:batch-size=999999999999", "score: batch-size must be 1 to 2,147,483,647, not 999999999999"),
        ("default:sticky-linger-ms=nan", "default: sticky-linger-ms must be 0 to 900,000, not nan"),
        ("power-of-d:d=200000", "power-of-d: d must be 1 to 100, not 200000"),
    ],
)
def test_a_limit_is_reported(text: str, message: str) -> None:
    """Who exceeds a range reads which option, what it may be, and what it was."""
    with pytest.raises(UsageError) as error:
        load_policy(text).create(Context())

    assert error.value.message == message


def test_options_are_the_keyword_parameters() -> None:
    """Options carry dashes, and their defaults."""
    assert options_of(load_policy("adaptive").make) == {"batch-size": 16384, "availability-timeout-ms": 0.0}


def test_own_policy_is_loaded_by_module() -> None:
    """A policy given as package.module:object needs no entry point."""
    choice = load_policy("kafkabal.routing.policies.random:Random")

    assert choice.about.name == "random"


def test_own_policy_takes_options() -> None:
    """Options follow the class as they follow a name."""
    own = "kafkabal.routing.policies.power_of_d:PowerOfD"

    assert load_policy(f"{own}:d=3").options == {"d": 3}
    with pytest.raises(UsageError, match="unknown option: 'e'"):
        load_policy(f"{own}:e=3")


def test_settings_of_clients_are_options_where_none_was_given() -> None:
    """A policy that knows the option takes it; what was asked for stays, and other policies are not bothered."""
    assert load_policy("sticky").with_client_linger(0.0).options == {"linger_ms": 0.0}
    assert load_policy("sticky:linger-ms=7").with_client_linger(0.0).options == {"linger_ms": 7.0}
    assert load_policy("random").with_client_linger(0.0).options == {}


def test_librdkafkas_default_stays_for_twice_the_linger_time() -> None:
    """It sets sticky.partitioning.linger.ms to that, up to its limit, unless it is given."""
    stays = {linger_ms: load_policy("default").with_client_linger(linger_ms).options for linger_ms in (5.0, 0.0, 9e5)}

    assert [options["sticky_linger_ms"] for options in stays.values()] == [10.0, 0.0, 9e5]
    assert load_policy("default:sticky-linger-ms=3").with_client_linger(5.0).options == {"sticky_linger_ms": 3.0}
