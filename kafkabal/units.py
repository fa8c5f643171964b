"""Parses and formats bytes, rates, durations, percentages and times, and parses numbers and broker ids.

kB, MB, GB, TB, PB are powers of ten; KiB, MiB, GiB, TiB, PiB powers of two; a bare number is bytes; rates may end in
``/s``. A share is written ``10%`` or ``0.10``.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, TypeVar

from kafkabal.errors import UsageError

_POWERS: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "pb": 10**15,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "pib": 2**50,
}
DAY_S: Final = 86_400.0
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": DAY_S, "w": 7 * DAY_S}
_QUANTITY: Final = re.compile(r"\s*(?P<number>\d{1,19}(?:\.\d+)?|\.\d+)\s*(?P<unit>[A-Za-z]*)\s*", re.ASCII)
_DURATION_PART: Final = re.compile(r"(?P<number>\d{1,9}(?:\.\d+)?)(?P<unit>ms|min|[smhdw])", re.ASCII)
_PERCENT: Final = re.compile(r"\s*(?P<number>\d{1,9}(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)\s*", re.ASCII)
_MOST_BYTES: Final = 2**63 - 1
LONGEST_DURATION_S: Final = 1e9
"""31 years; clocks and sockets refuse to wait for much longer."""
_MOST_BROKER: Final = 2**31 - 1
_MOST_DIGITS: Final = 19
"""Digits of 2^63 - 1; a longer number is refused without converting it."""
_WHOLE: Final = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d{1,400}(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_SHOWN: Final = 40
"""Characters of an invalid text that an error shows, so that the message stays one line."""
_TENTHS_BELOW_S: Final = 9.95
"""Shorter durations show tenths of a second: training that takes 1.0 s is not training that takes 1.4 s."""
_SIZE_HINT = "write it like 500MB, 10GiB or 4096"
_RATE_HINT: Final = "write it like 50MB/s or 20MiB/s"
LEAST_THROTTLE_BYTES_PER_S: Final = 1000
"""Kafka's own tool asks for at least 1 KB/s, too."""
_DURATION_HINT: Final = "write it like 10s, 5m or 1h30m"
_Number = TypeVar("_Number", int, float)


def parse_bytes(text: str) -> int:
    """Parse a number of bytes such as ``10GB``, ``1.5 GiB`` or ``4096``.

    Raises
    ------
    UsageError
        If the text is not such a size.
    """
    return _parse_bytes(text, text, "size", _SIZE_HINT)


def parse_positive_bytes(text: str) -> int:
    """Parse a number of bytes as :func:`parse_bytes` does, where 0 makes no sense.

    Raises
    ------
    UsageError
        If the text is not such a size, or 0.
    """
    return _above_zero(parse_bytes(text), "size", text, _SIZE_HINT)


def parse_rate(text: str) -> int:
    """Parse a rate in bytes per second such as ``50MB``, ``50MB/s`` or ``20MiB/s``.

    Raises
    ------
    UsageError
        If the text is not such a rate.
    """
    return _parse_bytes(text.strip().removesuffix("/s"), text, "rate", _RATE_HINT)


def _parse_bytes(compact: str, text: str, what: str, hint: str) -> int:
    match = _QUANTITY.fullmatch(compact)
    factor = _POWERS.get(match["unit"].lower()) if match else None
    if match is None or factor is None:
        raise UsageError(f"invalid {what}: {text!r}", hint=hint)
    count = round(float(match["number"]) * factor) if "." in match["number"] else int(match["number"]) * factor
    if count > _MOST_BYTES:
        raise UsageError(f"{what} too large: {text!r}")
    if not count and float(match["number"]):
        raise UsageError(f"{what} is less than one byte: {text!r}", hint=hint)
    return count


def parse_positive_rate(text: str) -> int:
    """Parse a rate as :func:`parse_rate` does, where 0 makes no sense.

    Raises
    ------
    UsageError
        If the text is not such a rate, or 0.
    """
    return _above_zero(parse_rate(text), "rate", text, _RATE_HINT)


def parse_throttle(text: str) -> int:
    """Parse the rate of a throttle, at least 1 KB/s: who types ``--throttle 50`` means megabytes.

    Raises
    ------
    UsageError
        If the text is not such a rate, or less than :data:`LEAST_THROTTLE_BYTES_PER_S`.
    """
    rate = parse_positive_rate(text)
    if rate < LEAST_THROTTLE_BYTES_PER_S:
        raise UsageError(f"throttle too low: {text!r} is {rate} B/s", hint=f"{_RATE_HINT}; the minimum is 1KB/s")
    return rate


def parse_duration(text: str) -> float:
    """Parse a duration in seconds such as ``5s``, ``250ms``, ``1h30m`` or ``7d``.

    Raises
    ------
    UsageError
        If the text is not such a duration; a bare number has no unit and is refused.
    """
    compact = text.replace(" ", "")
    parts = list(_DURATION_PART.finditer(compact))
    units = [_SECONDS[part["unit"]] for part in parts]
    # each unit once, largest first: 1m1m is a typo, not two minutes
    falling = all(later < earlier for earlier, later in pairwise(units))
    if not parts or not falling or "".join(part[0] for part in parts) != compact:
        raise UsageError(f"invalid duration: {text!r}", hint=_DURATION_HINT)
    duration_s = sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts)
    if duration_s > LONGEST_DURATION_S:
        raise UsageError(f"duration too long: {text[:_SHOWN]!r}", hint=_DURATION_HINT)
    return duration_s


def parse_positive_duration(text: str) -> float:
    """Parse a duration as :func:`parse_duration` does, where 0 makes no sense.

    Raises
    ------
    UsageError
        If the text is not such a duration, or 0.
    """
    return _above_zero(parse_duration(text), "duration", text, _DURATION_HINT)


def _above_zero(number: _Number, what: str, text: str, hint: str) -> _Number:
    if not number:
        raise UsageError(f"{what} must be above 0: {text!r}", hint=hint)
    return number


def parse_whole_number(text: str, low: int = 0, high: int = _MOST_BYTES) -> int:
    """Parse a whole number in plain ASCII digits, without underscores.

    Raises
    ------
    UsageError
        If the text is not one, or it is not between ``low`` and ``high``.
    """
    compact = text.strip()
    if not _WHOLE.fullmatch(compact):
        raise UsageError(f"not a whole number: {text[:_SHOWN]!r}")
    digits = compact.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS or int(digits) > _MOST_BYTES:
        rest = "..." if len(digits) > _SHOWN else ""
        raise UsageError(f"number too large: {digits[:_SHOWN]}{rest}")
    is_negative = compact.startswith("-")
    number = -int(digits) if is_negative else int(digits)
    if not low <= number <= high or (is_negative and low >= 0):
        limits = f"at least {low:,}" if high == _MOST_BYTES else f"between {low:,} and {high:,}"
        raise UsageError(f"must be {limits}: {text!r}")
    return number


def parse_broker_ids(text: str) -> frozenset[int]:
    """Parse broker ids such as ``3,4``.

    Raises
    ------
    UsageError
        If one of them is not a whole number below 2^31.
    """
    try:
        return frozenset(parse_whole_number(word, 0, _MOST_BROKER) for word in text.split(","))
    except UsageError:
        raise UsageError(f"invalid broker ids: {text[:_SHOWN]!r}", hint="write them like 3,4") from None


def parse_number(text: str) -> float:
    """Parse a finite number in plain ASCII digits, without underscores, such as ``0.5``, ``-3`` or ``1e-3``.

    Raises
    ------
    UsageError
        If the text is not one.
    """
    compact = text.strip()
    value = float(compact) if _NUMBER.fullmatch(compact) else math.nan
    if not math.isfinite(value):
        raise UsageError(f"not a number: {text[:_SHOWN]!r}")
    return value


def parse_percent(text: str) -> float:
    """Parse a percentage such as ``10%`` or ``0.10``; a bare ``10`` or ``1`` is refused as ambiguous.

    Returns
    -------
    float
        The fraction, 0 or more; 1.0 is the whole.

    Raises
    ------
    UsageError
        If the text is not a percentage, or is ambiguous.
    """
    match = _PERCENT.fullmatch(text)
    if match is None:
        raise UsageError(f"invalid percentage: {text!r}", hint="write it like 10% or 0.10")
    value = float(match["number"])
    if match["percent"]:
        return value / 100
    if value > 1 or match["number"] == "1":
        other = "1.0" if value == 1 else f"{value / 100:.2f}" if value.is_integer() else f"{value / 100:g}"
        raise UsageError(f"ambiguous percentage: {text!r} ({value:g}% or {other}?)")
    return value


def format_bytes(count: float) -> str:
    """Format bytes with three significant digits and a binary unit: ``1.46 GiB``; unknown (NaN or < 0) is ``-``."""
    if math.isnan(count) or count < 0:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 999.5 or (unit == "B" and count < 1024):
            return f"{_three_digits(count)} {unit}" if unit != "B" else f"{count:.0f} B"
        count /= 1024
    return f"{_three_digits(count)} PiB"


def format_rate(bytes_per_s: float) -> str:
    """Format a rate as :func:`format_bytes` does bytes: ``12.0 MiB/s``."""
    text = format_bytes(bytes_per_s)
    return text if text == "-" else f"{text}/s"


def format_stated_bytes(count: float) -> str:
    """Format bytes in the unit that a user typed, with up to two decimals: ``1.5 MB``, not ``1.43 MiB``."""
    for name in ("PB", "TB", "GB", "MB", "kB"):
        factor = _POWERS[name.lower()]
        if factor <= count < 1000 * factor and count * 100 % factor == 0 and count % 2**20:
            return f"{count / factor:g} {name}"
    return format_bytes(count)


def format_stated_rate(bytes_per_s: float) -> str:
    """Format a rate as :func:`format_stated_bytes` does bytes: ``1.5 MB/s``."""
    return f"{format_stated_bytes(bytes_per_s)}/s"


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units: ``450 ms``, ``1.4 s``, ``3 min 20 s``, ``4 d 3 h``, ``2 y 7 d``."""
    if math.isnan(seconds):
        return "-"
    if math.isinf(seconds):
        return "forever"
    if 0 < seconds < 0.00095:
        return f"{max(seconds * 1000, 0.1):.1f} ms"  # 0 would mean that it took no time
    if 0 < seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if 0 < seconds < _TENTHS_BELOW_S:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    for size, unit, smaller, smaller_unit in (
        (365 * 86400, "y", 86400, "d"),
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit} {rest} {smaller_unit}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


def format_moment(text: str) -> str:
    """Convert an ISO 8601 time to UTC and whole seconds: ``2026-11-25T09:07:29Z``."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment.tzinfo else text
    except (ValueError, OverflowError):
        return text  # written by another tool: shown unchanged


def duration_as_option(seconds: float) -> str:
    """Format a duration exactly, as options take it: ``90d``, ``36h``, ``1.5s``."""
    sizes = ((86400, "d"), (3600, "h"), (60, "m"))
    size, unit = next(((size, unit) for size, unit in sizes if seconds % size == 0), (1, "s"))
    return f"{seconds / size:.10g}{unit}"


def format_percent(fraction: float, digits: int = 1) -> str:
    """Format a fraction as a percentage: ``12.5%``; unknown (NaN) is ``-``."""
    return "-" if math.isnan(fraction) else f"{fraction * 100:.{digits}f}%"


def percent_as_option(fraction: float) -> str:
    """Format a percentage as options take it, with all its digits: ``85%``, ``20.25%``."""
    return f"{fraction * 100:.10g}%"


def _three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f}"
