"""An autotuner's configurations: one for each launch, or each run once, as on a GPU, which times them, but for those
that are alike here.
"""

import hashlib
import itertools
import zlib
from collections.abc import Callable, Hashable
from typing import Any

from .findings import EmulatorError

_FAULTY = [float("inf")] * 3  # the times of a configuration that cannot be chosen
_OF_THE_COMPILER = frozenset({"num_warps", "num_stages", "maxnreg"})  # they change no value


class Tuning:
    """Stands for ``Autotuner.run`` and ``Autotuner._bench``, which it calls."""

    def __init__(self, emulator: Any, run: Callable[..., Any], bench: Callable[..., Any]):
        self._emulator, self._run, self._bench = emulator, run, bench
        self._times: dict[Hashable, list[float]] = {}  # of the launch under way, by what a configuration means
        self._repeated: set[Hashable] = set()  # the hooks with which a configuration was run twice
        self._order = itertools.count()

    def run(self, tuner: Any, *args: Any, **options: Any) -> Any:
        """A launch of an autotuned kernel."""
        before = self._times, self._repeated
        self._times, self._repeated = {}, set()
        try:
            return self._run(tuner, *args, **options)
        finally:
            self._times, self._repeated = before

    def bench(self, tuner: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        """The times of a configuration: one that is at fault cannot be chosen, and the next is tried."""
        meaning = _meaning(tuner, config)
        if meaning in self._times:
            self._emulator.passed_over(tuner.base_fn.__name__)
            return self._times[meaning]
        times = self._tried(tuner, args, config, meta)
        if (
            times is _FAULTY or times != _FAULTY
        ):  # one that asks for too much says nothing of another, as of fewer stages
            self._times[meaning] = times
        return times

    def _tried(self, tuner: Any, args: tuple[Any, ...], config: Any, meta: dict[str, Any]) -> list[float]:
        timer, self._emulator.configuration = vars(tuner).get("do_bench"), str(config)
        tuner.do_bench = lambda call, quantiles=None: self._once(call, id(config.pre_hook))
        try:
            times: list[float] = self._bench(tuner, *args, config=config, **meta)
            return times
        except EmulatorError:
            return _FAULTY
        finally:
            self._emulator.configuration = ""
            if timer is None:
                del tuner.do_bench
            else:
                tuner.do_bench = timer

    def _once(self, call: Callable[[], Any], hook: Hashable) -> list[float]:
        if self._emulator.try_configuration(call, hook not in self._repeated):
            self._repeated.add(hook)
        return [float(next(self._order))] * 3  # the first is the quickest


def ranked(choice: int | None, tuner: Any, *args: Any, config: Any, **named: Any) -> list[float]:
    """Times by which the configuration that ``choice`` names is the quickest, whatever the launch is given, or else the
    one that follows it; without a choice another one for other shapes and numbers of the launch. Those that compute
    alike are one. As many choices in a row as there are configurations, from a multiple of their number on, name each
    of them once, in an order of their own for each autotuner: what one runs in says nothing of another.
    """
    if choice is None:
        sizes = [getattr(value, "shape", value if type(value) is int else None) for value in (*args, *named.values())]
        choice = zlib.crc32(repr(sizes).encode())
    meanings = [_meaning(tuner, config) for config in tuner.configs]
    places = {meaning: place for place, meaning in reversed(list(enumerate(meanings)))}
    turn, place = divmod(choice, len(places))
    tuned = turn, tuner.base_fn.__name__, [values for values, _ in places]

    def drawn(meaning: tuple[Any, int]) -> tuple[bytes, int]:
        return hashlib.sha256(repr((tuned, meaning[0])).encode()).digest(), places[meaning]

    distinct = sorted(places, key=drawn)
    return [float((distinct.index(_meaning(tuner, config)) - place) % len(distinct))] * 3


def _meaning(tuner: Any, config: Any) -> tuple[tuple[tuple[str, str], ...], int]:
    """Returns what a configuration decides of the values: of the compiler's options those that the kernel is given or,
    as by ``num_threads()``, asks for, too.
    """
    asked = {*tuner.arg_names, *tuner.base_fn.__code__.co_names}
    asked |= {"num_warps"} if "num_threads" in asked else set()
    options = config.all_kwargs().items()
    values = tuple((name, repr(value)) for name, value in options if name not in _OF_THE_COMPILER - asked)
    return values, id(config.pre_hook)
