"""Code that several readers use."""
