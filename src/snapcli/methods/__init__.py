"""Every method that is compared: one table, a file per family of scores or trained network."""
