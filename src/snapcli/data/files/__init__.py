"""Where data come from: publishers, folders, archives, the cache."""
