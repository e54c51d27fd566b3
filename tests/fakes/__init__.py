"""Stand-ins for the knowledge base and the library, and documents made for tests."""
