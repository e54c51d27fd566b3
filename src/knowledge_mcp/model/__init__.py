"""VALUES: frozen dataclasses of the standard library only, shared by every room."""
