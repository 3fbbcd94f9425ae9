"""The ground floor: text, usage errors, progress. README.md has the names."""

from .garbage_collection import no_garbage
from .ipython import shell
from .lazy import lazy_api
from .moment import utc_and_local
from .pace import Pace
from .progress import Progress, Terminal
from .quality import Quality
from .stdout import keep_stdout
from .text import count, is_python, visible
from .usage import Commands, Exit, Parser, UsageError, new_file
