"""What stands on a device beside a model: int8 body, heads and decision, evaluated in integers."""
