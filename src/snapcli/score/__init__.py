"""From surprisals and logits to an uncertainty, in floating point (numpy)."""
