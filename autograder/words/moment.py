"""A moment as a sentence has it: in UTC, and beside it in the time zone of those who read it."""

from datetime import UTC, datetime, tzinfo


def utc_and_local(moment: datetime, zone: tzinfo | None = None) -> str:
    """``2026-12-10 11:00 UTC (12:00 CET)``. moment: with its zone; zone: the machine's by default. Without the
    parenthesis where both clocks show the same, and with the local date where that is another.
    """
    there, local = moment.astimezone(UTC), moment.astimezone(zone)
    if not local.utcoffset():
        return f"{there:%Y-%m-%d %H:%M} UTC"
    date = "" if local.date() == there.date() else f"{local:%Y-%m-%d} "
    return f"{there:%Y-%m-%d %H:%M} UTC ({date}{local:%H:%M} {getattr(zone, 'key', local.tzname())})"
