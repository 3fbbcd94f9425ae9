# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: crashed
"""A status whose launch has constants nested five hundred deep: JSON can be read so far, Python's own calls cannot."""

import os

DEEP = '{"tuple": [' * 500 + "1" + "]}" * 500
LAUNCH = '{"kernel": "kernel", "signature": {}, "constants": {"C": ' + DEEP + "}}"
STATUS = '{"trouble": null, "outputs": null, "launches": [' + LAUNCH + "]}\n"


def silu_forward(x):
    for file in range(3, 12):
        try:
            os.write(file, STATUS.encode())
        except OSError:
            pass
    os._exit(0)
