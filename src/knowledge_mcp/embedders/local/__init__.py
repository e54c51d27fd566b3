"""The local model: its files, its tokens, its session."""
