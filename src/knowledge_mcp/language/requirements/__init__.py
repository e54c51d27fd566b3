"""What requirements say besides their force: kind, conditions, reservations, opposites, and which items they name."""
