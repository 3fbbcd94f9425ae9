"""Compiles kernels for GPUs, in a process of its own: what it compiles was written by somebody else. Imports the
standard library and Triton only.
"""

import __future__

import ast
import contextlib
import io
import os
import re
import subprocess
import tempfile
import time

from . import machine_code
from .language import Constants, Opaque, Refusal, check_names, imported


class Unsuited(Exception):
    """The launch is for other GPUs. On this one the launching code, which runs nowhere here, might choose otherwise."""


class Module:
    """A kernel, its helpers and constants, as live functions."""

    def __init__(self, extract, folder):
        handle, self.path = tempfile.mkstemp(".py", "kernels_", folder)
        self.starts, text = {}, ""
        for name, function in extract["functions"].items():
            self.starts[name] = text.count("\n") + 1
            text += function["text"] + "\n\n"
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        self.names = {"__builtins__": {}, "__name__": "kernels"}
        for name, value in extract["values"].items():
            self.names[name] = decode(value, self.names, folder)
        for name, function in extract["functions"].items():
            check_names(name, ast.parse(function["text"]), self.names)
        # Annotations stay text: nothing but constants is evaluated when the functions are made.
        code = compile(text, self.path, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
        exec(code, self.names)
        import triton

        for name, function in extract["functions"].items():
            self.names[name] = triton.jit(self.names[name], noinline=bool(function["options"].get("noinline")))

    def place(self, line):
        """A line of the file -> the function it is in, and the line counted from that function's ``def``."""
        name = max((n for n, start in self.starts.items() if start <= line), key=self.starts.get, default=None)
        return (name, line - self.starts[name]) if name else (None, None)


def decode(value, names, folder):
    if not isinstance(value, dict):
        return value
    import triton.language as tl

    if "constexpr" in value:
        return tl.constexpr(decode(value["constexpr"], names, folder))
    if "tuple" in value:
        return tuple(decode(item, names, folder) for item in value["tuple"])
    if "dtype" in value:
        return tl.dtype(value["dtype"])
    if "of" in value:
        return Module(value["of"], folder).names[value["function"]]
    if "function" in value:
        return names[value["function"]]
    if "floats" in value:
        module = Constants("floats")
        vars(module).update(value["floats"])
        return module
    if "any" in value:
        return _first(value["any"], names, folder)
    return imported(value["import"], value.get("name")) if "import" in value else Opaque()


def _first(choices, names, folder):
    """What Python binds that tries one import after the other."""
    found = refusal = None
    for choice in choices:
        try:
            found = decode(choice, names, folder)
        except Refusal as reason:
            refusal = refusal or reason
            continue
        if not isinstance(found, Opaque):
            return found
    if found is None:
        raise refusal
    return found


def build(job, module):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend

    kernel = module.names[job["kernel"]]
    backend = make_backend(GPUTarget(job["backend"], job["arch"], job["warp_size"]))
    check_options(job, backend)
    folder = os.path.dirname(module.path)
    constants = {name: decode(value, module.names, folder) for name, value in job["constants"].items()}
    for parameter in kernel.params:
        if parameter.name not in job["signature"] and parameter.name not in constants:
            raise Refusal(f"the launch gives no value for parameter {parameter.name}")
    signature = {name: job["signature"].get(name, "constexpr") for name in kernel.arg_names}
    notes = {(i,): backend.parse_attr(job["notes"].get(name, "")) for i, name in enumerate(kernel.arg_names)}
    return ASTSource(kernel, signature, constants, {i: note for i, note in notes.items() if note}), backend.target


def check_options(job, backend):
    from triton.backends.amd.compiler import HIPOptions
    from triton.backends.nvidia.compiler import CUDAOptions

    try:
        options = backend.parse_options(dict(job["options"]))
    except ValueError as error:
        raise Unsuited(str(error)) from None
    except AssertionError as error:
        raise Refusal(str(error)) from None
    for name in job["options"]:
        if not hasattr(CUDAOptions, name) and not hasattr(HIPOptions, name):
            raise Refusal(f"{name} is no parameter of the kernel and no launch option")
        if not hasattr(options, name):
            raise Unsuited(f"the launch option {name} is for other GPUs")
    if options.num_warps * 32 > 1024:
        raise Refusal(f"a program of {options.num_warps} warps is too large: a GPU runs at most 1024 threads a program")
    if (threads := options.num_warps * job["warp_size"]) > 1024:
        raise Unsuited(f"the launch is for warps of 32 threads; here a program would have {threads}, more than 1024")


def compile_job(job, module, source, target):
    """Returns what is known after compiling, and the running disassembler, where one is needed."""
    import triton
    from triton import knobs

    log = io.StringIO()
    knobs.nvidia.dump_ptxas_log = True  # registers and spills as ptxas counts them
    with contextlib.redirect_stdout(log):
        compiled = triton.compile(source, target=target, options=dict(job["options"]))
    found = {"shared": compiled.metadata.shared}
    if "cubin" not in compiled.asm:
        return {**found, "amdgcn": compiled.asm["amdgcn"]}, None
    found["ptxas"] = log.getvalue()
    if accesses := machine_code.instructions(compiled.asm["cubin"], job["arch"]):
        return {**found, "accesses": accesses}, None
    handle, path = tempfile.mkstemp(".cubin", dir=os.path.dirname(module.path))
    with open(handle, "wb") as file:
        file.write(compiled.asm["cubin"])
    command = [knobs.nvidia.cuobjdump.path, "-sass", path]
    output = open(path + ".sass", "w+b")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL)
    return found, (process, output)


def explain(error, module, diagnostics):
    """An exception of the compiler -> message, function and line within it, of the innermost call of the learner's."""
    function = line = None
    message = str(error).strip() or type(error).__name__
    while error is not None:
        if hasattr(error, "node") and hasattr(error, "src"):
            words = getattr(error, "error_message", None)
            cause = error.__cause__
            message = words or (f"{type(cause).__name__}: {cause}" if cause is not None else message)
            if hasattr(error.node, "lineno"):
                for name in module.starts:
                    if getattr(module.names[name], "src", None) == error.src:
                        function, line = name, error.node.lineno - 1
        error = error.__cause__
    if function is None:
        for place, words in re.findall(re.escape(module.path) + r":(\d+):\d+: error: (.*)", diagnostics):
            (function, line), message = module.place(int(place)), words
    return {"message": unwrap(message), "function": function, "line": line}


def unwrap(message):
    """NameError('x is not defined') -> x is not defined"""
    match = re.fullmatch(r"(\w+)\((['\"])(.*)\2,?\)", message, re.S)
    return match[3] if match else message


def attempt(index, request, modules, folder):
    """One job: what is known of it, and the running disassembler, if there is one."""
    job = request["jobs"][index]
    try:
        if job["module"] not in modules:
            modules[job["module"]] = Module(request["modules"][job["module"]], folder)
        module = modules[job["module"]]
        source, target = build(job, module)
    except Refusal as refusal:
        return {"message": str(refusal), "function": refusal.function, "line": refusal.line}, None
    except Unsuited as reason:
        return {"unsuited": str(reason)}, None
    except Exception as error:
        return {"lost": f"the compiler could not begin: {type(error).__name__}: {error}"}, None
    with kept_errors(folder) as errors:
        try:
            return compile_job(job, module, source, target)
        except Exception as error:
            if isinstance(error, OSError) or str(error).startswith("Cannot find "):
                return {"lost": f"the compiler could not run: {error}"}, None
            errors.seek(0)
            return explain(error, module, errors.read().decode(errors="replace")), None


@contextlib.contextmanager
def kept_errors(folder):
    """A file that takes what is written to stderr: MLIR and LLVM write their diagnostics there."""
    keep = os.dup(2)
    with tempfile.TemporaryFile(dir=folder) as errors:
        os.dup2(errors.fileno(), 2)
        try:
            yield errors
        finally:
            os.dup2(keep, 2)
            os.close(keep)


def results(request):
    """What became of each job of {"modules": [extract], "jobs": [job]}, in order; each is compiled when it is asked
    for. A last one brings what takes longer: {"disassembled": [[job, answer], ...]}.

    An answer has ``result`` (see `machine_code`) with ``shared``; or ``message``, ``function`` and ``line`` of what the
    compiler refuses; or a reason: ``unsuited`` (for this GPU), ``lost`` (what no kernel should be able to bring about).
    """
    folder = os.environ["TRITON_CACHE_DIR"]
    modules, running, finished = {}, [], []
    for index in range(len(request["jobs"])):
        begin = time.perf_counter()
        found, disassembler = attempt(index, request, modules, folder)
        found["seconds"] = round(time.perf_counter() - begin, 3)
        if disassembler:  # it takes longer than the next compilation: let it run
            running.append((index, found, disassembler))
        if len(running) >= (os.cpu_count() or 1):
            finished.append(_disassembled(*running.pop(0)))
        yield {"pending": True} if disassembler else _read(found)
    yield {"disassembled": finished + [_disassembled(*one) for one in running]}


def _disassembled(index, found, disassembler):
    process, output = disassembler
    process.wait()
    output.seek(0)
    found["sass"] = output.read().decode(errors="replace")
    output.close()
    return index, _read(found)


def _read(found):
    """An answer with the numbers that `machine_code` finds in what the compiler and the disassembler gave."""
    if "shared" not in found:
        return found
    rest = {name: value for name, value in found.items() if name == "seconds"}
    try:
        if "amdgcn" in found:
            result = machine_code.amd(found["amdgcn"])
        else:
            accesses = found["accesses"] if "accesses" in found else machine_code.disassembled(found["sass"])
            result = machine_code.nvidia(accesses, found["ptxas"])
    except machine_code.Unreadable as reason:
        return rest | {"lost": str(reason)}
    return rest | {"result": result | {"shared": found["shared"]}}
