"""A file per command: each takes a run and options and returns a report; none prints or exits."""
