"""The notebook around this process, if there is one."""

import sys
from typing import Any


def shell() -> Any:
    """Returns the running IPython, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
