"""A class as a whole: its verdicts made on every core there is, and what a teacher looks at afterwards.

- `command` is ``graded-kernels grade`` and ``graded-kernels report``;
- `course` reads a course root as nbgrader does; `waiting` says which verdicts its notebooks need;
- `cluster` has Dask make them, on this machine or on any cluster, with `task` on the workers;
- `grade` puts these together, and then has nbgrader's autograde run once, which finds the verdicts;
- `class_findings` is what a class did, as data; `page` and `figures` show it; `class_report` writes the files.
"""
