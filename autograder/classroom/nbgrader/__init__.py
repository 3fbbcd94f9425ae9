"""nbgrader with this course's grader in it.

nbgrader keeps what it does well: release, collect, gradebook, late penalties, grading by hand, formgrader, feedback,
export. Five of its parts are replaced in ``course/nbgrader_config.py``, so that nbgrader's commands, formgrader's
buttons and ``graded-kernels grade`` all use them:

- `generate.GenerateAssignment` releases a notebook that was graded anew only where the gradebook's cells stay;
- `autograde.Autograde` is nbgrader's converter with this grader in it: it says what is to be graded, and loops over it.
  Each submission is read once (`submission`), safely (`reader`), and rebuilt from the released notebook (`rebuild`);
- `grade_cells.Grade` checks the answers in place of running the notebook, and writes score and report into its check
  cells;
- `grade_cells.SaveScores` records the scores, and none where something could not be read or graded;
- `export.Grades` writes the table of grades.

``nbgrader export`` writes one row for each assignment and student (`export`), and says of each whether it is graded.
"""
