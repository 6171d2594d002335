"""Property tests without a time limit per example: a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("patient", deadline=None, max_examples=40)
settings.load_profile("patient")
