"""The data sets, a module each: load_NAME(request) -> Dataset."""
