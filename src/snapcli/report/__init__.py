"""Pictures and pages of what was measured. Values in, text out: nothing here reads a run."""
