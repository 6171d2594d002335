"""The six stages. Each takes a run and its options and returns a report; none prints or exits."""
