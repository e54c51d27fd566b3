"""What several readers use."""
