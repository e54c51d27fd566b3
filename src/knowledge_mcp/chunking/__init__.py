"""Documents to chunks: each chunk is exactly the span that it claims."""
