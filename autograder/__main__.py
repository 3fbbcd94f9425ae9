"""``python -m graded_kernels.autograder`` is ``graded-kernels``."""

import sys

from .cli import main

sys.exit(main())
