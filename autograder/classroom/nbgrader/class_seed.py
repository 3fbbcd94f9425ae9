"""The seed of a class's random inputs: the same for everybody in it, another for each assignment, and unknown until it
is in the feedback.

It is drawn from a secret in the course root, which is made at the first grading run. Whoever has the secret has the
seeds of all assignments; whoever has one seed has no other.
"""

import fcntl
import hmac
import os
import re
import secrets
from pathlib import Path

FILE = "class_secret"
_FORM = re.compile(r"[0-9a-f]{64}\n?")


class ClassSecretError(Exception):
    """The secret cannot be read or made; the message says what to do."""


def class_seed(root: Path, assignment: str) -> int:
    """The seed, 31 bits. Makes the secret where there is none. Raises ClassSecretError."""
    digest = hmac.digest(bytes.fromhex(_secret(root / FILE)), assignment.encode(), "sha256")
    return int.from_bytes(digest[:4]) >> 1


def _secret(path: Path) -> str:
    """Runs that begin at the same time get the same one: the first to hold the lock writes it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(file, "r+", encoding="ascii", errors="replace") as opened:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file).st_mode & 0o077:
                os.fchmod(file, 0o600)
            secret = opened.read(1000)
            if not secret:
                secret = secrets.token_hex(32)
                opened.write(f"{secret}\n")
                opened.flush()
                os.fsync(file)
    except OSError as error:
        fix = f"Make it readable and writable for whoever grades, or set c.Grade.seed to a number of your own: {error}"
        raise ClassSecretError(f"the secret of the class cannot be used. {fix}") from None
    if not _FORM.fullmatch(secret):
        fix = "Put the file back as it was, or remove it: then a new one is made, and the next run has other inputs"
        raise ClassSecretError(f"{path} does not hold a secret of a class. {fix}")
    return secret.strip()
