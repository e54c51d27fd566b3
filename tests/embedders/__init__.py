"""The local embedder, its model files and their building."""
