"""The ground floor: text, usage errors, progress."""
