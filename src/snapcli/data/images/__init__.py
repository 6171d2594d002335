"""Images: their formats, how they vary, what a network takes."""
