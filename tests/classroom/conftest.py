"""What `classroom` sets for nbgrader in a test process (one reader, the version of a gradebook's tables) is set for
every module here.
"""

import classroom  # noqa: F401
