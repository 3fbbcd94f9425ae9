"""The ground floor: text, usage errors, progress. README.md has the names."""

from .lazy import lazy_face
from .notebook import shell
from .progress import Progress, Terminal, wants_color
from .quality import Quality, both, qualities
from .text import is_python, visible
from .usage import NOT_PASSED, PASSED, USAGE, Commands, UsageError, function_name, new_file, quality_names
