"""How good a score is: what networks show of data, maps fitted and judged on it, ablations."""
