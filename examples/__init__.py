"""Example documents and what builds them."""
