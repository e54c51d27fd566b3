"""The tools of each surface, their models, and what keeps answers short."""
