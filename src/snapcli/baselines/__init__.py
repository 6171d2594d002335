"""The methods that are compared, one per file: fit(train, dev), then score(batch)."""
