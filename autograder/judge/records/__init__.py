"""The vocabulary of records: what an exercise is, its inputs, how close is right."""
