"""Tracing: which items of one set are met, refined or tested by which items of another, with evidence."""
