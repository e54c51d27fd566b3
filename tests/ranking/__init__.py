"""Tests of `ranking`."""
