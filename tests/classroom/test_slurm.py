"""`course/clusters/slurm.py`, and `workers.sbatch` with a scheduler of one's own, on a SLURM cluster of one node, which
is this machine: checks run in jobs of sbatch.

Needs root, Debian's SLURM and MUNGE, and dask-jobqueue; says so where one is missing. The cluster is this test's alone:
its daemons, keys, state and sockets lie in a folder of its own.
"""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from classroom import copied, place, right_answers, scores
from graded_kernels.autograder.judge import Store
from graded_kernels.course.build import ROOT
from tampered import FULL, NOTHING, TORCH, ZEROS, find

pytestmark = pytest.mark.release
pytest.importorskip("dask_jobqueue", reason="not run: needs dask-jobqueue (pip install dask-jobqueue)")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
CLUSTERS = ROOT / "course" / "clusters"
# As `workers.sbatch` has it, on one core.
SESSION = """\
set -e
source "$FILES/environment.sh"
dask scheduler --host "$ADDRESS" --dashboard-address 127.0.0.1:0 &
trap 'scancel --name grading; kill %1' EXIT
sbatch --cpus-per-task 1 "$FILES/workers.sbatch" "$ADDRESS"
graded-kernels grade tiny --scheduler "$ADDRESS"
"""
SECONDS = 600  # a bound for what hangs; nothing is measured
CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={control}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=4096 State=UNKNOWN
PartitionName=compute Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The environment in which SLURM's commands find a running cluster."""
    search = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in PROGRAMS if not shutil.which(name, path=search)]
    if missing or os.geteuid():
        pytest.skip(f"not run: needs root and {', '.join(missing)}, install with apt-get install slurm-wlm munge")
    folder = Path(tempfile.mkdtemp(prefix="gk-slurm-"))  # a path of a socket is short
    folder.chmod(0o755)  # MUNGE's socket is for all accounts
    host = socket.gethostname().partition(".")[0]
    ports = {"control": free_port(), "node": free_port()}
    settings = CONFIGURATION.format(folder=folder, host=host, cores=os.cpu_count(), **ports)
    (folder / "slurm.conf").write_text(settings)
    (folder / "munge.key").write_bytes(secrets.token_bytes(64))
    (folder / "munge.key").chmod(0o600)
    own = [
        f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in ("socket", "key-file", "pid-file", "log-file")
    ]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"])
    variables = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": path}
    daemons = []
    for line in (["munged", "-F", *own, f"--seed-file={folder}/seed"], ["slurmctld", "-D"], ["slurmd", "-D"]):
        log = open(folder / f"{line[0]}.said", "w")
        daemons.append(subprocess.Popen(line, env=variables, cwd=folder, stdout=log, stderr=log))
        time.sleep(1)
    try:
        wait_until_idle(variables, folder)
        yield variables
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_idle(variables: dict[str, str], folder: Path) -> None:
    end = time.monotonic() + SECONDS / 10
    while time.monotonic() < end:
        said = subprocess.run(["sinfo", "-h", "-o", "%T"], env=variables, capture_output=True, text=True)
        if said.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    raise AssertionError("\n".join(f"{path}:\n{path.read_text()[-2000:]}" for path in sorted(folder.glob("*.log"))))


@pytest.fixture
def course(made_course, tmp_path):
    """With five notebooks, one of them wrong, which take six verdicts."""
    course = copied(made_course, tmp_path)
    for number in range(4):
        notebook = right_answers(course)
        find(notebook, TORCH)["source"] += f"\n# {number}"
        place(course, f"right{number}").write_text(json.dumps(notebook))
    find(notebook, TORCH)["source"] = ZEROS
    place(course, "wrong").write_text(json.dumps(notebook))
    return course


def assert_graded(course: Path, cluster: dict[str, str]) -> None:
    assert [scores(course, f"right{number}") for number in range(4)] == [FULL] * 4
    assert scores(course, "wrong") == FULL | {TORCH: NOTHING[TORCH]}
    assert len(list(Store(course))) == 6
    jobs = subprocess.run(["scontrol", "-o", "show", "jobs"], env=cluster, capture_output=True, text=True).stdout
    print(jobs)
    assert "JobName=grading" in jobs
    assert "Partition=compute" in jobs


def test_a_class_is_graded_by_jobs_of_sbatch(course, tmp_path, cluster):
    script = (CLUSTERS / "slurm.py").read_text()
    for line, here in {
        "NODES = 4": "NODES = 1",
        "CORES = 16": "CORES = 1",
        'MEMORY = "64GB"': 'MEMORY = "2GB"',
    }.items():
        assert script.count(line) == 1
        script = script.replace(line, here)
    (course / "slurm.py").write_text(script)
    variables = cluster | {"HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "slurm.py", "tiny"], cwd=course, env=variables, capture_output=True, text=True, timeout=SECONDS
    )
    print(ran.stdout, ran.stderr)
    assert ran.returncode == 0
    assert "6 verdicts to make, on " in ran.stdout
    assert "6 verdicts made" in ran.stdout
    assert_graded(course, cluster)


def test_a_class_is_graded_by_ones_own_scheduler_with_workers_of_sbatch(course, tmp_path, cluster):
    address, script = f"tls://127.0.0.1:{free_port()}", tmp_path / "session.sh"
    script.write_text(SESSION)
    variables = cluster | {"HOME": str(tmp_path), "FILES": str(CLUSTERS), "ADDRESS": address}
    ran = subprocess.run(["bash", script], cwd=course, env=variables, capture_output=True, text=True, timeout=SECONDS)
    log = "".join(path.read_text() for path in course.glob("slurm-*.out"))
    print(ran.stdout, ran.stderr, log)
    assert ran.returncode == 0
    assert "6 verdicts to make, on " in ran.stdout
    assert "not encrypted" not in ran.stdout
    assert re.search(rf"Registered to: +{address}\n", log)  # the job's own output: the worker ran there
    dashboard = re.search(r"dashboard at: +(\S+)", ran.stderr)  # and not one of its own
    assert dashboard
    assert f"; dashboard: {dashboard[1]}\n" in ran.stdout
    assert "6 verdicts made" in ran.stdout
    assert_graded(course, cluster)
