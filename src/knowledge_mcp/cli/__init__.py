"""The commands: thin faces of one engine."""
