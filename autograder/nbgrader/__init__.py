"""nbgrader with this course's grader in it.

nbgrader keeps what it does well: release, collect, gradebook, late penalties, grading by hand, formgrader, feedback,
export. Three of its parts are replaced, all by names in ``course/nbgrader_config.py``, so that the command
``nbgrader autograde`` and formgrader's button both use them:

- `submission.Submissions` reads what a learner handed in, and rebuilds the notebook from the released one (`rebuild`);
- `grade.Grade` checks the answers in place of running the notebook, and writes score and report into its check cells;
- `grade.SaveScores` records the scores, and none where a check could not be graded.

``nbgrader export`` writes one row for each assignment and student, with the columns

- ``assignment, duedate, student_id, last_name, first_name, email``;
- ``timestamp`` of the submission, empty where none is known;
- ``raw_score``, the sum over all cells, in which a cell that still waits for a person counts 0;
- ``late_submission_penalty``, and ``score``, which is ``raw_score`` less the penalty; ``max_score``.
"""
