"""Calls code, trusted or not. It knows nothing that is right; the one security boundary."""
