"""Code shared by both servers."""
