"""A simulated GPU for Triton: emulator, compiler, CUDA, sanitize. It knows no course, no answer, no verdict."""
