"""What differs between Linux, macOS and Windows: locks, pipes, and processes with all that they start."""
