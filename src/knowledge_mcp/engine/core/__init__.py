"""The foundation of all use cases."""
