"""Says what a GPU would have to do for a launch, read from its machine code on a machine without a GPU.

NVIDIA's disassembler shows the code (`disassembly`), loops are multiplied out (`trips`), and what a thread carries out
is counted (`instructions`): all of that in the process that compiles. Of these counts and the size of the launch
`roofline` makes instructions an element, and by a model of two lines the most of a card that they allow.

The bound is from above. Latency, occupancy, the caches and bank conflicts can only make a kernel slower.
"""
