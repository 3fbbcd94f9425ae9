"""Text from elsewhere, as it may be shown."""


def visible(text: str) -> str:
    """``text`` with its control characters spelled out: none may move the cursor, recolour the screen, reverse the line
    or break the XML of a report.
    """
    text = text.expandtabs(4)
    return "".join(ch if ch.isprintable() or ch == "\n" else ch.encode("unicode_escape").decode() for ch in text)
