"""From a source to stored chunks."""
