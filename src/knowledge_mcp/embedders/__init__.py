"""Embedders: turn texts into vectors, locally or with a service."""
