"""Times of CF: from a number and units such as `hours since 1900-01-01` to a date in one of CF's calendars."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["TimeUnits", "date_text", "parse_units"]

_UNITS = re.compile(
    r"\s*([a-z]+)\s+since\s+([+-]?\d{1,4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{1,2})(?::(\d+\.?\d*))?)?",
    re.IGNORECASE,
)
_SECONDS = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millisec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FIXED = {"360_day": (30,) * 12, "noleap": _MONTHS, "365_day": _MONTHS}
_LEAP = (31, 29, *_MONTHS[2:])
_FIXED |= {"all_leap": _LEAP, "366_day": _LEAP}
_GREGORIAN = ("standard", "gregorian", "proleptic_gregorian")
_REFORM = 2299161
"""The Julian day number of 1582-10-15, the first day of the Gregorian calendar; the mixed calendar is Julian before."""


class TimeUnits(NamedTuple):
    """Parsed units of a time coordinate."""

    seconds: float
    """The length of a unit."""
    date: tuple[int, int, int]
    offset: float
    """The seconds from the beginning of that day."""


def parse_units(text: str) -> TimeUnits | None:
    """`hours since 1900-01-01` parsed; None for other units."""
    match = _UNITS.match(text)
    if match is None or match[1].lower() not in _SECONDS:
        return None
    offset = int(match[5] or 0) * 3600 + int(match[6] or 0) * 60 + float(match[7] or 0)
    return TimeUnits(_SECONDS[match[1].lower()], (int(match[2]), int(match[3]), int(match[4])), offset)


def date_text(value: float, units: TimeUnits, calendar: str) -> str | None:
    """The date and time of a value; None if the calendar is unknown or the date is out of range."""
    total = units.offset + value * units.seconds
    if not abs(total) < 1e14:
        return None
    seconds = round(total)
    days, rest = divmod(seconds, 86400)
    day = _day_number(units.date, calendar)
    if day is None:
        return None
    year, month, date = _date(day + days, calendar)
    text = f"{year:04d}-{month:02d}-{date:02d}"
    return text if not rest else f"{text}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def _day_number(date: tuple[int, int, int], calendar: str) -> int | None:
    year, month, day = date
    if not 1 <= month <= 12:
        return None
    lengths = _FIXED.get(calendar)
    if lengths is not None:
        return year * sum(lengths) + sum(lengths[: month - 1]) + day - 1
    if calendar not in (*_GREGORIAN, "julian"):
        return None
    number = _julian_day(year, month, day, gregorian=calendar != "julian")
    mixed = calendar in ("standard", "gregorian")
    return _julian_day(year, month, day, gregorian=False) if mixed and number < _REFORM else number


def _julian_day(year: int, month: int, day: int, *, gregorian: bool) -> int:
    """The Julian day number (Richards, Explanatory Supplement to the Astronomical Almanac, 2013, section 15.11)."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    number = day + (153 * months + 2) // 5 + 365 * years + years // 4
    return number - (years // 100 - years // 400 + 32045 if gregorian else 32083)


def _date(number: int, calendar: str) -> tuple[int, int, int]:
    lengths = _FIXED.get(calendar)
    if lengths is not None:
        year, day = divmod(number, sum(lengths))
        month = 0
        while day >= lengths[month]:
            day -= lengths[month]
            month += 1
        return year, month + 1, day + 1
    gregorian = calendar == "proleptic_gregorian" or (calendar != "julian" and number >= _REFORM)
    days = number + 32044 if gregorian else number + 32082
    centuries = 0
    if gregorian:
        centuries = (4 * days + 3) // 146097
        days -= 146097 * centuries // 4
    years = (4 * days + 3) // 1461
    days -= 1461 * years // 4
    months = (5 * days + 2) // 153
    return (
        100 * centuries + years - 4800 + months // 10,
        months + 3 - 12 * (months // 10),
        days - (153 * months + 2) // 5 + 1,
    )
