"""The published configuration of a JupyterHub is understood: a misspelt option would be ignored without a word."""

import importlib
import subprocess
import sys

import pytest
from graded_kernels.course.build import ROOT
from jupyter_server.serverapp import ServerApp
from jupyter_server.services.kernels.kernelmanager import MappingKernelManager
from traitlets.config import Config

SERVER_CLASSES = {kind.__name__: kind for kind in (ServerApp, MappingKernelManager)}
HUB_CLASSES = {"JupyterHub": "app", "Spawner": "spawner", "Authenticator": "auth"}
ASKS = "bytearray({} << 30)"


@pytest.fixture(scope="module")
def config() -> Config:
    return read("root")


def read(grader: str) -> Config:
    """The configuration, whose course belongs to this account."""
    found = Config()
    text = (ROOT / "course" / "hub" / "jupyterhub_config.py").read_text()
    assert 'GRADER = "grader"' in text
    text = text.replace('GRADER = "grader"', f'GRADER = "{grader}"')
    exec(compile(text, "jupyterhub_config.py", "exec"), {"get_config": lambda: found})
    return found


def test_without_the_account_of_the_course_the_hub_does_not_begin():
    """It ended with a traceback where its service began, and left its proxy running."""
    with pytest.raises(SystemExit, match="There is no account nobody-of-this-name: useradd "):
        read("nobody-of-this-name")


def test_a_servers_options_exist(config):
    options = [argument.removeprefix("--").partition("=")[0].split(".") for argument in config.Spawner.args]
    assert options
    for kind, option in options:
        assert option in SERVER_CLASSES[kind].class_trait_names(config=True), f"{kind}.{option}"


def test_the_hubs_options_exist(config):
    pytest.importorskip("jupyterhub", reason="not run: needs JupyterHub (pip install jupyterhub)")
    assert set(config) == set(HUB_CLASSES)
    for kind, module in HUB_CLASSES.items():
        known = getattr(importlib.import_module(f"jupyterhub.{module}"), kind).class_trait_names(config=True)
        assert set(config[kind]) <= set(known)


@pytest.mark.parametrize(("gib", "held"), [(1, True), (5, False)])
def test_a_servers_processes_are_limited(config, gib, held):
    limits = config.Spawner.cmd[: config.Spawner.cmd.index(sys.executable)]
    ran = subprocess.run([*limits, sys.executable, "-c", ASKS.format(gib)], capture_output=True, text=True)
    assert (ran.returncode == 0) is held, ran.stderr
    assert held or ran.stderr.strip().endswith("MemoryError")
