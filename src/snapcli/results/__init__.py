"""The JSON files that commands leave in a run: one module for each, which also reads it back."""
