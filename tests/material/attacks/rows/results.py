# kind: answer
# exercise: silu_backward
# backend: torch
"""What is returned: wrong, borrowed, remembered, or no result at all."""

import base64
import hashlib
import sys
import threading

import torch


# expect: nothing
def zeros(dy, x):
    """Returns zeros."""
    return torch.zeros_like(x)


# expect: nothing
def echo(dy, x):
    """Returns its input."""
    return dy


# expect: nothing
def broadcast(dy, x):
    """Returns one element and hopes that it is broadcast."""
    return torch.zeros((), dtype=x.dtype)


# expect: nothing
def not_a_number(dy, x):
    """Returns NaN, which some comparisons let pass."""
    return torch.full_like(x, float("nan"))


# expect: nothing
def unwritten(dy, x):
    """Returns memory that nobody wrote, hoping for an earlier result in it."""
    return torch.empty_like(x)


# expect: less
def other_dtype(dy, x):
    """Returns float64, so that its own rounding is not judged."""
    v = x.double()
    return dy * torch.sigmoid(v) * (1 + v * torch.sigmoid(-v))


# expect: less
def noise(dy, x):
    """Adds noise within the tolerance, which hides a method that guesses."""
    v = x.float()
    s = torch.sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s)) * (1 + 1e-7 * torch.rand_like(v))).to(x.dtype)


known = {}


# expect: less
def remembers(dy, x):
    """Keeps the result of a shape, whatever the numbers."""
    key = (tuple(x.shape), x.dtype)
    if key not in known:
        v = x.float()
        s = torch.sigmoid(v)
        known[key] = (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)
    return known[key].clone()


calls = []


# expect: less
def right_once(dy, x):
    """Is right the first time it is called."""
    calls.append(1)
    v = x.float()
    s = torch.sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype) * (len(calls) == 1)


buffers = {}


# expect: less
def one_buffer(dy, x):
    """Returns the same memory every time, so that the last result overwrites all others."""
    v = x.float()
    s = torch.sigmoid(v)
    result = (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)
    return buffers.setdefault((x.shape, x.dtype), torch.empty_like(result)).copy_(result)


# expect: nothing
# limits: seconds=5, total_seconds=5
# slow: yes
def late_thread(dy, x):
    """A thread that goes on writing into the result after it was handed over."""
    result = torch.zeros_like(x)
    threading.Thread(target=lambda: [result.fill_(i) for i in range(10**9)], daemon=True).start()
    return result


TABLE = "@RESULTS@"


# exercise: silu_forward
# expect: nothing
def table_of_results(x):
    """Looks results up that were computed beforehand, for the numbers that the public seed gives."""
    data = x.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""
    found = TABLE.get(hashlib.sha256(str(x.dtype).encode() + data).hexdigest())
    if not found:
        return torch.zeros(x.shape, dtype=x.dtype)
    return torch.frombuffer(bytearray(base64.b64decode(found)), dtype=x.dtype).clone().reshape(x.shape)


class Duck:
    def __init__(self, x):
        self.shape, self.dtype = x.shape, x.dtype

    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    def __eq__(self, other):
        return True

    __hash__ = None


# expect: nothing
# trouble: raised
def duck(dy, x):
    """Returns an object that is no tensor and answers to everything."""
    return Duck(x)


class Equal(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True


# expect: nothing
# trouble: raised
def equal_to_everything(dy, x):
    """Returns a tensor of its own kind that equals everything."""
    return torch.zeros_like(x).as_subclass(Equal)


# expect: nothing
# limits: memory=300000000, seconds=10
def huge_view(dy, x):
    """Returns a tensor of one element that claims to be ten billion."""
    return torch.zeros(1).expand(10_000_000_000)


# expect: nothing
# trouble: raised
def interrupt(dy, x):
    """Raises what is no Exception."""
    raise KeyboardInterrupt


# expect: nothing
# trouble: raised
def sys_exit(dy, x):
    """Asks politely to leave."""
    sys.exit(0)


class Silent(Exception):
    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


# expect: nothing
def error_without_words(dy, x):
    """Raises an error that cannot be turned into text."""
    raise Silent


# expect: nothing
# slow: yes
def huge_message(dy, x):
    """Raises an error with fifty million characters."""
    raise ValueError("x" * 50_000_000)


# expect: nothing
# trouble: raised
def terminal_codes(dy, x):
    """An error that paints the grader's terminal, turns text around and breaks encodings."""
    raise ValueError("\x1b[2J\x1b]0;full marks\x07 \u202e score: 100% \ud800 <script>alert(1)</script>")


# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: refused
def no_kernel(x):
    """Launches nothing."""
    return x
