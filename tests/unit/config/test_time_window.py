"""The hours in which a run may work."""

from datetime import UTC, datetime

import pytest

from kafkabal.config.time_window import TimeWindow
from kafkabal.errors import UsageError


@pytest.mark.parametrize(
    ("text", "now", "opens_s"),
    [
        ("01:00-05:00", "00:30", 1800),
        ("01:00-05:00", "04:00", 0),
        ("01:00-05:00", "05:00", 72000),
        ("22:00-02:00", "23:00", 0),
        ("22:00-02:00", "01:00", 0),
        ("22:00-02:00", "12:00", 36000),
    ],
)
def test_window(text: str, now: str, opens_s: int) -> None:
    """A window opens and closes at its times, also over midnight."""
    moment = datetime.strptime(f"2026-01-01 {now}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    window = TimeWindow.parse(text)
    assert window.seconds_until_open(moment) == opens_s


@pytest.mark.parametrize("text", ["", "1-5", "25:00-26:00", "01:00-01:00", "01:00", "a:b-c:d"])
def test_window_refused(text: str) -> None:
    """An invalid window is refused with an example."""
    with pytest.raises(UsageError) as refused:
        TimeWindow.parse(text)
    assert refused.value.hint
