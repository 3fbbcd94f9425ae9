"""Files under a notebook's name that are no notebook: each function returns the bytes."""


def not_json(nb):
    return b"{ not json"


def empty_file(nb):
    return b""


def not_text(nb):
    return b"\x80\x81\xff"


def other_json(nb):
    return b"[1, 2, 3]"


def deep_json(nb):
    return b"[" * 100_000


NO_NOTEBOOKS = (not_json, empty_file, not_text, other_json, deep_json)
