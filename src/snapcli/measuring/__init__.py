"""What a device answers over the link, and whether it is what the integer reference says."""
