"""The ground floor: text, usage errors, progress. README.md has the names."""

from .lazy import lazy_face
from .notebook import shell
from .progress import Progress, Terminal, wants_color
from .quality import Quality
from .text import is_python, visible
from .usage import Commands, Exit, UsageError, new_file
