"""SNAP heads: a projector and a predictor per tap, one file per likelihood."""
