"""What a journal's requests have set in configs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kafkabal.executor.state.journal_records import EffectKind, Intended
from kafkabal.executor.state.set_configs import SetConfig, SetConfigs

_RATE, _LIST = ("broker 1", "leader.replication.throttled.rate"), ("topic t", "leader.replication.throttled.replicas")


def _after(*requests: dict[str, Any]) -> SetConfigs:
    """After requests that are sent a minute apart."""
    found = SetConfigs()
    for minute, items in enumerate(requests):
        at = f"2026-01-01T00:0{minute}:00.000+00:00"
        found.take(Intended(at=at, number=minute, kind=EffectKind.CONFIGS, items=items))
    return found


def _of_list(**change: str) -> dict[str, Any]:
    return {_LIST[0]: {_LIST[1]: change}}


def test_entries_are_added_and_removed_one_by_one() -> None:
    """What was removed again is not set; the time is that of the last addition."""
    found = _after(_of_list(append="0:1,0:2"), _of_list(append="1:1"), _of_list(subtract="0:1,0:2"))
    assert found[_LIST].values == {"1:1"}
    assert found[_LIST].age_s(datetime(2026, 1, 1, 0, 3, tzinfo=UTC)) == 120.0


def test_a_value_replaces_the_one_before_until_it_is_deleted() -> None:
    """A rate that was changed is waited for, one that was restored by deleting it is not."""
    first, second, deleted = ({_RATE[0]: {_RATE[1]: value}} for value in ("1000", "2000", None))
    assert _after(first, second)[_RATE].values == {"2000"}
    assert not _after(first, second, deleted)[_RATE].values


@pytest.mark.parametrize("at", ["2030-01-01T00:00:00+00:00", "2030-01-01T00:00:00", "yesterday", ""])
def test_a_time_that_is_wrong_counts_as_now(at: str) -> None:
    """A clock that was set, or a journal edited by hand, costs a wait of a minute and leaves no throttle."""
    assert SetConfig(frozenset({"1000"}), at).age_s(datetime(2026, 1, 1, tzinfo=UTC)) == 0.0


@pytest.mark.parametrize("items", [{"broker 1": 5}, {"broker 1": {"rate": 5}}, {"topic t": {"list": {"append": None}}}])
def test_what_kafkabal_has_not_written_is_ignored(items: dict[str, Any]) -> None:
    """A journal edited by hand ends no command with a traceback."""
    assert not _after(items)
