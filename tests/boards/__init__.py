"""Models of the real parts for an instruction emulator, and the proof that our images run there."""
