"""The shelf: a file for each case with its records, content only. `shelf` gathers them for `judge.records.table`."""
