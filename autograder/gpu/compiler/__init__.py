"""Says what a GPU's compiler says about a kernel, on a machine without a GPU.

Triton's interpreter runs Python; a GPU runs what Triton's compiler accepts. The two differ: a list, a dictionary or a
call of NumPy inside a kernel works in the interpreter and does not compile. Launches are therefore compiled ahead of
time, with their own argument types, constants and options, for sm_90 (H100, H200), or for whichever of `TARGETS` is
asked for: sm_80 (A100), sm_100 (B200), gfx942 (MI300). It takes no GPU and no driver: ptxas and LLVM are in Triton's
package. Every form of a launch goes through Triton's front end, and so many of them through the whole compiler that
everything the others do is among it (`forms`).

    launch = launch_of(kernel, args, kwargs, source)     # in the process that ran the kernel; plain data from here on
    launch = recorded(emulator.launches[0], source)      # the same, of a launch that the emulator noted
    report = compile_report([launch], compiler.run_jobs)          # compiler: a `sandbox.Compiler`

``report`` is a dictionary for `json.dumps`:

    status      "pass": everything compiled; "fail": something did not; "not-run": something could not be judged
    reason      one sentence, empty where status is "pass"
    triton      version of the compiler
    forms       how many forms of launches there are, with other types, constants or options each
    complete    how many of them went through the whole compiler, and not the front end alone
    left_out    how many more should have: only `WHOLE` do
    compiled_for    names of the targets; not_compiled_for: of the others in `TARGETS`
    targets     one row for each form of ``complete`` and target, and for each that the front end refuses:
        kernel, target, device    "silu_kernel", "sm_90", "NVIDIA H100 and H200"
        launch                    "x: *fp16, n: i32, BLOCK=1024, not divisible by 16: n"
        aligned                   whether every pointer and integer argument is divisible by 16, as wide loads need
        status                    "pass", "fail" or "not-run"
        slow                      whether it fails for the compiler's time alone, which says nothing of its results
        message, line, line_text  the compiler's words, and the line they are about, counted from 1 in its file or cell
        advice    what to do about a common mistake, or ""
        registers                 32-bit registers a thread (vector registers on gfx942)
        scalar_registers          gfx942 only, else None
        spills                    bytes a thread stores to memory because registers ran out; 0 is what one wants
        shared                    bytes of shared memory a program (LDS on gfx942)
        loads, stores             how many global memory instructions of each width: {"128": 4, "32": 1}, bits as keys
        load_bits, store_bits     the width most bits travel in, the narrower where two are equal; None without any
        seconds, cached           time in the compiler, and whether an earlier report did that work

Numbers are per thread and static: an instruction inside a loop counts once.

How. The launch's kernel and the functions it calls are cut out of the source text with `ast`; nothing else of the
learner's file goes anywhere near an interpreter (`extract`). A process without ``TRITON_INTERPRET`` compiles them
(`worker`, `name_check`); `sandbox.Compiler` starts it, as isolated as an answer is. Results are kept by content in the
user's cache folder (`cache`): a report whose results are all there starts no process.
"""

from .ahead_of_time import FORMS, WHOLE, CannotCompile, compile_report, machine_code_report
from .kernel_launch import SEAM, KernelLaunch
from .recording import launch_of, recorded
from .targets import TARGETS, Target

__all__ = ["FORMS", "SEAM", "TARGETS", "WHOLE", "CannotCompile", "KernelLaunch", "Target"]
__all__ += ["compile_report", "launch_of", "machine_code_report", "recorded"]
