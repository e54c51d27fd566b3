"""Word documents: bytes to `Document`."""
