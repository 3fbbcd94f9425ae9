"""The lines around what nbgrader leaves out of a released notebook. Imports nothing: whoever reads an answer out of a
chapter needs no Jupyter for it.
"""

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"  # an answer's code
BEGIN_GUIDE, END_GUIDE = "<!-- BEGIN SOLUTION -->", "<!-- END SOLUTION -->"  # a question's marking guide
