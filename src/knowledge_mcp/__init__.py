"""A knowledge server for AI assistants: documents in, evidence that can be checked out."""

__all__ = ["__version__"]

__version__ = "0.1.0"
