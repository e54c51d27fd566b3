"""The language of a text, its function words and its words of force."""
