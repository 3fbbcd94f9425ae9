"""JupyterHub for one class on one machine, with formgrader as a service: `jupyterhub -f jupyterhub_config.py`, as root.

    pip install jupyterhub jupyterlab && npm install -g configurable-http-proxy

Everybody has a system account and a server of their own. The course root belongs to the account GRADER, as which
formgrader runs; who is in TEACHERS may open it, at /services/COURSE/formgrader, and nobody else. The course's Python
environment has to be readable by all accounts. RUNNING.md has the lines on the exchange for
/etc/jupyter/nbgrader_config.py.
"""

import pwd
import sys

c = get_config()  # type: ignore[name-defined]  # noqa: F821  traitlets defines it

COURSE = "graded-kernels"
COURSE_ROOT = "/home/grader/course"
GRADER = "grader"
TEACHERS = ["teacher"]
LEARNERS = ["ada"]
# Here, before the hub has started its proxy: a service without its account ends the hub, and leaves the proxy running.
if GRADER not in {account.pw_name for account in pwd.getpwall()}:
    sys.exit(f"There is no account {GRADER}: useradd --create-home {GRADER}, or name another one in GRADER.")
SERVER = [sys.executable, "-m", "jupyterhub.singleuser"]
MEMORY_GIB = 4  # whole chapters with every answer right stay below 1
FORMGRADER = "http://127.0.0.1:9999"  # where the hub's proxy finds formgrader; not for browsers

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # behind a web server that speaks HTTPS
c.JupyterHub.authenticator_class = "pam"
c.Authenticator.allowed_users = {*TEACHERS, *LEARNERS}
# What one process may hold, a learner's server or kernel. More is a MemoryError in the cell that asks.
c.Spawner.cmd = ["prlimit", f"--data={MEMORY_GIB << 30}", "--", *SERVER]
c.Spawner.default_url = "/lab"
# A kernel holds 0.33 GB once the course is imported: an idle one is stopped, and then the server. Files stay.
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=3600",  # seconds; a kernel that computes is never stopped
    "--MappingKernelManager.cull_connected=True",  # also where its notebook is still open in a browser
    "--ServerApp.shutdown_no_activity_timeout=3600",  # seconds without a kernel
]
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # seconds: where many log in at once, a server starts slowly

c.JupyterHub.load_groups = {f"formgrade-{COURSE}": {"users": TEACHERS}}
c.JupyterHub.load_roles = [
    {"name": "formgrader", "groups": [f"formgrade-{COURSE}"], "scopes": [f"access:services!service={COURSE}"]},
]
c.JupyterHub.services = [
    {
        "name": COURSE,
        "url": FORMGRADER,
        "command": SERVER,
        "user": GRADER,
        "cwd": COURSE_ROOT,
        "timeout": 300,  # seconds to start
        "oauth_no_confirm": True,  # a teacher is not asked whether the service may know who they are
    },
]
