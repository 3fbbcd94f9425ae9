"""`graded-kernels sanitize` as a command of its own: its status and output, and what an interruption leaves."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from graded_kernels.autograder import cli
from graded_kernels.autograder.gpu.sanitize import program_process

PROGRAM = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))

print(sys.argv[1:], __name__, flush=True)
try:
    copy[(1,)](torch.ones(8, device="cuda"), torch.zeros(8, device="cuda"), 8, BLOCK=16)
except Exception:
    pass
if "wait" in sys.argv:
    print("ready", flush=True)
    sys.stdin.read()
sys.exit(5)
"""


def start(*arguments, ignored=False):
    """ignored: as a shell starts what is to run in the background, with interruptions ignored."""
    run = [sys.executable, "-m", "graded_kernels.autograder", "sanitize", *map(str, arguments)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else signal.getsignal(signal.SIGINT)
    try:
        return subprocess.Popen(
            run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.exhaustive
def test_the_command_on_a_script_and_on_a_module(tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    process = start("--json", tmp_path / "p.py", "--flag")
    stdout, stderr = process.communicate()
    shown = json.loads(stdout)
    assert process.returncode == shown["status"] == 1
    assert shown["failed"] == "it exited with status 5"
    assert [(f["line"], f["tensor"], f["times"]) for f in shown["findings"]] == [(8, "x", 1)]
    assert "['--flag'] __main__" in stderr
    process = start("-m", "json.tool", "--help")
    stdout, _ = process.communicate()
    assert process.returncode == 2
    assert "launched no Triton kernel" in stdout


@pytest.mark.exhaustive
def test_a_line_that_the_compiler_refuses_as_well_is_a_fault(tmp_path):
    load = "tl.load(x + i)"
    assert load in PROGRAM
    program = PROGRAM.replace(load, f"tl.max(tl.max({load}, 0), tl.sum({load}, 0))").replace("BLOCK=16", "BLOCK=8")
    (tmp_path / "p.py").write_text(program)
    stdout, _ = start("--json", tmp_path / "p.py").communicate()
    (finding,) = json.loads(stdout)["findings"]
    assert finding["kind"] == "unsupported"
    assert "Of two values take `tl.maximum(a, b)`" in finding["message"]
    assert "Triton's compiler refuses the line as well" in finding["message"]


@pytest.mark.exhaustive
def test_an_interruption_reports_what_was_found_so_far(tmp_path):
    (tmp_path / "p.py").write_text(PROGRAM)
    process = start(tmp_path / "p.py", "wait")
    while "ready" not in (line := process.stdout.readline()):
        assert line, process.stderr.read()
    process.send_signal(signal.SIGINT)
    try:
        stdout, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    output = " ".join(stdout.split())  # lines end where the folder's name makes them
    assert process.returncode == 1
    assert "out-of-bounds" in output
    assert "found so far" in output


def test_sigterm_ends_the_program_as_well(tmp_path):
    (tmp_path / "p.py").write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(5)\nprint(1)\n")
    process = start(tmp_path / "p.py")
    assert process.stdout.readline().strip().isdecimal()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM
    assert process.stdout.read() == ""  # which the program holds open for as long as it lives


@pytest.mark.exhaustive
def test_a_program_in_a_shells_background_can_be_interrupted(tmp_path):
    (tmp_path / "p.py").write_text("import signal\nprint(signal.getsignal(signal.SIGINT).__name__)\n")
    stdout, stderr = start(tmp_path / "p.py", ignored=True).communicate()
    assert "default_int_handler" in stdout, stderr


CAPABLE = """
import torch, triton, triton.language as tl

@triton.jit
def ones(x):
    tl.store(x, 1.0)

if torch.cuda.get_device_capability()[0] >= 9:
    ones[(1,)](torch.zeros(1, device="cuda"))
"""


@pytest.mark.parametrize("device, status", [("a100", 2), pytest.param("h100", 0, marks=pytest.mark.exhaustive)])
def test_kernels_for_a_newer_gpu_are_reached_by_naming_it(tmp_path, capfd, device, status):
    (tmp_path / "p.py").write_text(CAPABLE)
    assert cli.main(["sanitize", "--device", device, str(tmp_path / "p.py")]) == status
    said = "capability, which is 8.0 here: if its kernels are for another one, name its GPU with --device"
    assert (said in " ".join(capfd.readouterr().out.split())) == (device == "a100")


@pytest.mark.parametrize(
    ("text", "says"),
    [(b"def (", r"not Python, line 1: invalid syntax"), (b"\0", "not Python"), (b"\xff = 1", "not Python")],
)
def test_what_is_not_python_gets_a_sentence(tmp_path, text, says):
    (tmp_path / "p.py").write_bytes(text)
    with pytest.raises(program_process.Unusable, match=says):
        program_process.script(tmp_path / "p.py")


def test_a_program_knows_its_whole_path(tmp_path, monkeypatch):
    """As in Python itself: it may go to another folder and read what lies beside it."""
    code = "import os\nfrom pathlib import Path\nos.chdir('/')\nprint(Path(__file__).with_name('q').read_text())\n"
    code += "import inspect\ndef f(): pass\nassert inspect.getsource(f) == 'def f(): pass\\n'\n"
    (tmp_path / "p.py").write_text(code)
    (tmp_path / "q").write_text("beside")
    for name, value in (("path", [*sys.path]), ("modules", {**sys.modules})):
        monkeypatch.setattr(sys, name, value)
    monkeypatch.chdir(tmp_path)
    program_process.script(Path("p.py"))()


@pytest.mark.parametrize("command", [["sanitize", "--sarif"], ["check", "silu_forward", "--junit"]])
@pytest.mark.parametrize("file, says", [("none/out", "there is no folder"), (".", ". is a folder")])
def test_a_file_that_cannot_be_written_is_told_before_anything_runs(command, file, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command, file, __file__])
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err


def test_what_is_not_there_gets_a_sentence(capsys, tmp_path, monkeypatch):
    assert cli.main(["sanitize", str(tmp_path / "none.py")]) == 2
    assert "none.py` is not a file" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["sanitize", "--sarif", "/proc/x.sarif", str(tmp_path / "none.py")]) == 2
    shown = capsys.readouterr()
    assert "Name a script" in shown.out
    assert "/proc/x.sarif cannot be written" in shown.err
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(program_process.Unusable, match="there is no module no.such.module to run"):
        program_process.module("no.such.module")


NO_CUDA = "Could not run 'aten::empty_strided' with arguments from the 'CUDA' backend. This could be because ..."
AOT = """
import torch

class Add(torch.nn.Module):
    def forward(self, x):
        return x + 1

exported = torch.export.export(Add(), (torch.randn(4, device="cuda"),))
torch._inductor.aoti_compile_and_package(exported)
"""


@pytest.mark.parametrize(
    "text", [f"raise NotImplementedError({NO_CUDA!r})", pytest.param(AOT, marks=pytest.mark.exhaustive)]
)
def test_what_only_cuda_itself_could_do_is_not_judged(tmp_path, capfd, text):
    (tmp_path / "ahead.py").write_text(text)
    assert cli.main(["sanitize", str(tmp_path / "ahead.py")]) == 2
    said = " ".join("".join(capfd.readouterr()).split())
    assert "PyTorch's C++ asks a GPU for aten::empty_strided, as AOTInductor does: leave that to a GPU" in said
    assert "Traceback" not in said
