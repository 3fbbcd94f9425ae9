"""Other people's programs under the strict emulator: the command, the pytest plugin, and a stand-in for CUDA."""
