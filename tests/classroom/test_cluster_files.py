"""What `course/clusters/` hands to workers on other machines: the settings of the command's own."""

import json
import os
import re
import subprocess
import sys

from graded_kernels.autograder.classroom import cluster
from graded_kernels.course.build import ROOT

CLUSTERS = ROOT / "course" / "clusters"
ASKED = "import dask, distributed, json, sys; print(json.dumps([dask.config.get(name) for name in sys.argv[1:]]))"


def test_dask_reads_the_variables():
    names = [name for name in cluster.Cluster.SETTINGS if name != "distributed.admin.log-format"]
    command = [sys.executable, "-c", ASKED, *names]
    environment = os.environ | cluster.variables()
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert dict(zip(names, json.loads(ran.stdout), strict=True)) == {
        name: cluster.Cluster.SETTINGS[name] for name in names
    }


def test_the_file_to_source_sets_the_same_variables():
    found = dict(re.findall(r"(\w+)=(\S+)", (CLUSTERS / "environment.sh").read_text()))
    assert {name: found.get(name) for name in cluster.variables()} == cluster.variables()
