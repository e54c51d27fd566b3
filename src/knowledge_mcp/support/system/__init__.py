"""What Linux, macOS and Windows do each in its own way: locks, pipes, and processes with all that they start."""
