"""Says what the chosen configuration of an autotuned kernel stores, and another one leaves unwritten: a GPU may choose
that one.
"""

import numpy as np

from ...words import count
from ..emulator.observer import EndedLaunch


class Configurations:
    """Compares the configurations of each launch of an autotuned kernel with the one that was chosen for it."""

    def __init__(self) -> None:
        # By the address of a storage, a configuration and the elements that it leaves unwritten, by number.
        self._lacking: dict[int, tuple[str, np.ndarray]] = {}
        self._first: dict[object, dict[int, np.ndarray]] = {}  # what the first one stored, by kernel and address
        self._found: dict[tuple[object, int], tuple[str, np.ndarray]] = {}  # what another one does not

    def ended(self, ended: EndedLaunch, configuration: str) -> None:
        """Takes note of a launch. configuration: whose trial it is; "" where it is none."""
        for region in ended.footprint.space.regions:
            if region.stored:
                self.forget(region.address)
        if not configuration:
            self._chosen(ended)
        elif not ended.error:
            self._tried(ended, configuration)

    def forget(self, address: int) -> None:
        """Drops what is known of a storage that is written again, or gone."""
        self._lacking.pop(address, None)

    def lacking(self, address: int, name: str, total: int) -> tuple[int, str]:
        """The first element of a storage that another configuration leaves unwritten, and a sentence on them, once; 0
        and "" where there is none. name, total: of its tensor, and the elements that it has.
        """
        configuration, elements = self._lacking.pop(address, ("", np.zeros(0, dtype=int)))
        if not elements.size:
            return 0, ""
        return int(elements[0]), (
            f"Another configuration of its autotuner than the one that was chosen here, {configuration}, leaves "
            f"{count(elements.size, 'element')} of `{name}` ({total:,} in all) unwritten; the first is at element "
            f"offset {elements[0]:,}. A GPU may choose it: see that the grid and the masks cover the tensor in each "
            'configuration, as with a grid that is a function, `lambda meta: (triton.cdiv(n, meta["BLOCK"]),)`.'
        )

    def _tried(self, ended: EndedLaunch, configuration: str) -> None:
        stored, kernel = ended.first_stored(), ended.launch.kernel
        for address, flags in self._first.setdefault(kernel, stored).items():
            earlier = stored.get(address)
            if earlier is None or earlier.size == flags.size:
                missing = flags if earlier is None else flags & ~earlier
                if missing.any():
                    self._found.setdefault((kernel, address), (configuration, missing))

    def _chosen(self, ended: EndedLaunch) -> None:
        stored, self._found = self._found, {}
        self._first = {}
        for address, flags in ended.first_stored().items() if stored else ():
            configuration, missing = stored.get((ended.launch.kernel, address), ("", flags[:0]))
            if missing.size == flags.size and (both := np.flatnonzero(missing & flags)).size:
                self._lacking[address] = configuration, both
