"""A user's data for a finished model: a named data set, a folder, an .npz or a function."""
