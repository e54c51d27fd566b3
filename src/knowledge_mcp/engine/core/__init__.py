"""What every use case stands on."""
