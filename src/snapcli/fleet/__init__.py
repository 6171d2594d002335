"""What many devices say about their inputs: records read, merged, compared."""
