"""What a GPU would have to do for a function's Triton kernels, read from their machine code on a machine without a GPU.

`count` compiles every launch of a function for one NVIDIA target instead of running it (`launches`), has NVIDIA's
disassembler show the code (`listing`), multiplies loops out (`trips`), and makes a `Kernel` of it (`count`): registers,
spills, widths of loads and stores, instructions an element, and by a model of two lines a bound on the speed.

The bound is from above. Latency, occupancy, the caches and bank conflicts can only make a kernel slower.
"""

from .count import CARDS, Kernel, count
from .listing import MissingTool

__all__ = ["CARDS", "Kernel", "MissingTool", "count"]
