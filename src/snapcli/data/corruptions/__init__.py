"""Image corruptions with severities 1 to 5."""
