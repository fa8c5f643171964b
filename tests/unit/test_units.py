"""Quantities as people write and read them."""

import math

import pytest

from kafkabal import units
from kafkabal.errors import UsageError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("4096", 4096),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("500MB", 500_000_000),
        ("10GiB", 10 * 2**30),
        ("1.5 GiB", 3 * 2**29),
        (".5MiB", 2**19),
        (" 4TiB ", 4 * 2**40),
        ("1PB", 10**15),
        ("2pib", 2**51),
        ("7B", 7),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_sizes_are_read(text: str, count: int) -> None:
    """kB is 1000 bytes and KiB is 1024, in upper or lower case; a bare number is bytes."""
    assert units.parse_bytes(text) == count


@pytest.mark.parametrize(
    "text",
    ["", "GB", "-1", "+1", "1,5GB", "1.GB", "1e3", "10 G", "10EB", "10GB/s", "ten", "1_000", "٣", "nan", "inf", "1 2"],
)
def test_invalid_sizes_are_refused(text: str) -> None:
    """The error shows the text and hints at the syntax of sizes."""
    with pytest.raises(UsageError, match="invalid size") as error:
        units.parse_bytes(text)
    assert error.value.hint


@pytest.mark.parametrize("text", ["9223372036854775808", "9000000PB", "99999999.5TiB"])
def test_a_size_beyond_any_column_is_refused(text: str) -> None:
    """Sizes are stored in 64 bits: a larger one is an error here, not an overflow later."""
    with pytest.raises(UsageError, match="size too large"):
        units.parse_bytes(text)


@pytest.mark.parametrize("text", ["9" * 5000, "9" * 5000 + "d"])
def test_a_number_of_absurd_length_is_refused_like_any_other(text: str) -> None:
    """A very long number is refused before Python's own limit on digits applies."""
    for parse in (
        units.parse_bytes,
        units.parse_rate,
        units.parse_duration,
        units.parse_whole_number,
        units.parse_percent,
    ):
        with pytest.raises(UsageError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "rate"), [("50MB/s", 50_000_000), ("50MB", 50_000_000), ("20MiB /s", 20 * 2**20), ("1000", 1000)]
)
def test_rates_are_read(text: str, rate: int) -> None:
    """Decimal and binary units are read, with ``/s`` or without."""
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "/s", "50MB/min", "50Mbit/s", "50MB/s/s"])
def test_invalid_rates_are_refused(text: str) -> None:
    """The error speaks of a rate, not of a size."""
    with pytest.raises(UsageError, match="invalid rate"):
        units.parse_rate(text)


def test_a_throttle_is_at_least_a_kilobyte_per_second() -> None:
    """The minimum itself is allowed; less is refused, since bytes are rarely meant."""
    assert units.parse_throttle("1KB/s") == 1000
    with pytest.raises(UsageError, match="throttle too low: '999' is 999 B/s"):
        units.parse_throttle("999")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5s", 5.0),
        ("250ms", 0.25),
        ("1h30m", 5400.0),
        ("1h 30min", 5400.0),
        ("7d", 604800.0),
        ("2w", 1209600.0),
        ("0.5s", 0.5),
        ("0s", 0.0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    """Parts of a duration add up, with or without blanks between them."""
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "5x", "-5s", "5s3", "1h30", "1:30", "5S"])
def test_invalid_durations_are_refused(text: str) -> None:
    """A bare number has no unit and so is not a duration."""
    with pytest.raises(UsageError, match="invalid duration"):
        units.parse_duration(text)


def test_durations_of_more_than_31_years_are_refused() -> None:
    """No command waits for so long, and the clock of the system could not."""
    assert units.parse_duration("11574d") == 999_993_600.0
    with pytest.raises(UsageError, match="duration too long: '11575d'"):
        units.parse_duration("11575d")


@pytest.mark.parametrize(
    ("text", "share"),
    [("10%", 0.10), ("0.10", 0.10), ("9 %", 0.09), ("0", 0.0), ("0%", 0.0), ("1.0", 1.0), ("100%", 1.0), ("150%", 1.5)],
)
def test_shares_are_read(text: str, share: float) -> None:
    """A share is a percentage, or a number up to 1."""
    assert units.parse_percent(text) == pytest.approx(share)


@pytest.mark.parametrize(("text", "question"), [("10", "10% or 0.10?"), ("1", "1% or 1.0?"), ("1.5", "1.5% or 0.015?")])
def test_a_bare_number_where_a_share_is_meant_is_refused(text: str, question: str) -> None:
    """A bare number such as 10, 1 or 1.5 may mean a percentage or a fraction: it is refused."""
    with pytest.raises(UsageError, match="ambiguous") as error:
        units.parse_percent(text)
    assert question in error.value.message


@pytest.mark.parametrize("text", ["", "%", "-1%", "nan", "inf", "10%%", "1e-2", "0_1", "١٠%"])
def test_invalid_percentages_are_refused(text: str) -> None:
    """The error shows the text and hints at the syntax of percentages."""
    with pytest.raises(UsageError, match="invalid percentage") as error:
        units.parse_percent(text)
    assert error.value.hint


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (10_240, "10.0 KiB"),
        (102_400, "100 KiB"),
        (1023 * 1024, "1.00 MiB"),
        (1.46 * 2**30, "1.46 GiB"),
        (9.996 * 2**30, "10.0 GiB"),
        (5 * 2**50, "5.00 PiB"),
        (5000 * 2**50, "5000 PiB"),
        (-1, "-"),
        (math.nan, "-"),
    ],
)
def test_sizes_are_shown_with_three_digits(count: float, text: str) -> None:
    """Sizes have binary units and three significant digits; a dash means unknown."""
    assert units.format_bytes(count) == text


def test_rates_are_shown_like_sizes() -> None:
    """A rate is a size per second; an unknown one is only a dash."""
    assert units.format_rate(12 * 2**20) == "12.0 MiB/s"
    assert units.format_rate(math.nan) == "-"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.000001, "0.1 ms"),
        (0.0004, "0.4 ms"),
        (0.00096, "1 ms"),
        (0.45, "450 ms"),
        (0.9996, "1 s"),
        (1.04, "1 s"),
        (1.44, "1.4 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (12.4, "12 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (3599.9, "1 h"),
        (356_400, "4 d 3 h"),
        (41 * 365 * 86_400 + 86_400, "41 y 1 d"),
        (math.nan, "-"),
        (math.inf, "forever"),
    ],
)
def test_durations_are_shown_in_two_units(seconds: float, text: str) -> None:
    """Durations have their two largest units, tenths below 10 s and 1 ms, and never 60 of any unit; only none is 0."""
    assert units.format_duration(seconds) == text


@pytest.mark.parametrize(("share", "text"), [(0.125, "12.5%"), (0, "0.0%"), (1.5, "150.0%"), (math.nan, "-")])
def test_shares_are_shown_as_percentages(share: float, text: str) -> None:
    """Percentages have one decimal by default."""
    assert units.format_percent(share) == text
    assert units.format_percent(0.125, digits=0) == "12%"


@pytest.mark.parametrize("text", ["90d", "36h", "90m", "1.5s", "14d"])
def test_durations_are_written_as_options_take_them(text: str) -> None:
    """Durations use the largest exact unit, so that a displayed command can be pasted."""
    assert units.duration_as_option(units.parse_duration(text)) == text


def test_no_time_at_all_is_refused_where_some_is_needed() -> None:
    """Zero in any unit is refused with a hint; the shortest time above it is accepted."""
    for text in ("0s", "0ms", "0h0m", "0.0d"):
        with pytest.raises(UsageError, match="duration must be above 0") as error:
            units.parse_positive_duration(text)
        assert error.value.hint
    assert units.parse_positive_duration("1ms") == 0.001


@pytest.mark.parametrize("text", ["", "1_000", "１２", "0x10", "1.0", "1e3", "--1", "9" * 20, "-1", "9" * 5000])
def test_invalid_whole_numbers_are_refused(text: str) -> None:
    """Only plain decimal digits form a whole number, although Python accepts more spellings."""
    with pytest.raises(UsageError):
        units.parse_whole_number(text)


def test_a_negative_zero_is_no_count() -> None:
    """A sign where no negative number is meant is a mistake, whatever follows."""
    with pytest.raises(UsageError, match="must be at least 0: '-0'"):
        units.parse_whole_number("-0")
    assert units.parse_whole_number("-0", -1) == 0


def test_whole_numbers_are_read() -> None:
    """Whole numbers may have leading zeros, and up to 63 bits."""
    assert [units.parse_whole_number(text) for text in ("0", "007", " 12 ", str(2**63 - 1))] == [0, 7, 12, 2**63 - 1]


@pytest.mark.parametrize("text", ["1m1m", "1m1min", "1s1m", "1h 1h"])
def test_each_unit_occurs_once_largest_first(text: str) -> None:
    """A unit may occur once, the largest first: a repeated one is a mistake, not a sum."""
    with pytest.raises(UsageError, match="invalid duration"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (50_000_000, "50 MB/s"),
        (10**12, "1 TB/s"),
        (5_000, "5 kB/s"),
        (1_500_000, "1.5 MB/s"),
        (52_428_800, "50.0 MiB/s"),
        (1_572_864, "1.50 MiB/s"),
        (12_345_678, "11.8 MiB/s"),
    ],
)
def test_a_stated_rate_is_shown_as_it_was_written(rate: int, shown: str) -> None:
    """A rate with up to two decimals of a decimal unit keeps that unit; others are shown in binary units."""
    assert units.format_stated_rate(rate) == shown


@pytest.mark.parametrize(("digits", "shown"), [(21, "9" * 21), (400, "9" * 40 + "...")])
def test_a_truncated_number_is_marked(digits: int, shown: str) -> None:
    """An ellipsis appears only if digits are omitted."""
    with pytest.raises(UsageError) as caught:
        units.parse_whole_number("9" * digits)
    assert caught.value.message == f"number too large: {shown}"


def test_the_least_number_of_more_than_63_bits_is_called_too_large() -> None:
    """It has as many digits as the largest allowed one, and is not said to be below the lower limit."""
    with pytest.raises(UsageError, match=f"number too large: {2**63}"):
        units.parse_whole_number(str(2**63))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-25T09:07:29.357+00:00", "2026-11-25T09:07:29Z"),
        ("2026-11-25T09:07:29+02:00", "2026-11-25T07:07:29Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("2026-11-25T09:07:29", "2026-11-25T09:07:29"),
        ("yesterday", "yesterday"),
    ],
)
def test_moments_are_shown_in_utc_to_the_second(text: str, shown: str) -> None:
    """Moments are shown in UTC; text that is not a moment, or has no time zone, stays unchanged."""
    assert units.format_moment(text) == shown
