"""Code that all stores share."""
