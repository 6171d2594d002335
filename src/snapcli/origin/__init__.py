"""Where a run came from, trained or attached, and what follows: its data, network and monitor."""
