"""``python tests/material/attack_notebooks``: every hostile notebook at every level of isolation this machine has."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attack_notebooks.table import main

sys.exit(main(sys.argv[1:]))
