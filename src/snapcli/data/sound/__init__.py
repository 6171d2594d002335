"""Sound: files, clips, noise, and log-Mel features."""
