"""nbgrader with this course's grader in it.

nbgrader keeps what it does well: release, collect, gradebook, late penalties, grading by hand, formgrader, feedback,
export. Four of its parts are replaced, all by names in ``course/nbgrader_config.py``, so that the command
``nbgrader autograde`` and formgrader's button both use them:

- `submission.Submissions` reads what a learner handed in, and rebuilds the notebook from the released one (`rebuild`);
- `grade.Grade` checks the answers in place of running the notebook, and writes score and report into its check cells;
- `grade.SaveScores` records the scores, and none where something could not be read or graded;
- `export.Grades` writes the table of grades.

``nbgrader export`` writes one row for each assignment and student (`export`), and says of each whether it is graded.
"""
