"""Texts to vectors, locally or by a service."""
