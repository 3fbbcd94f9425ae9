"""The marks around what nbgrader leaves out of a released notebook: an answer's code, a question's marking guide."""

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_GUIDE, END_GUIDE = "<!-- BEGIN SOLUTION -->", "<!-- END SOLUTION -->"
