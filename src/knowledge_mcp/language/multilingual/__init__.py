"""Which language a text is in, the words that carry no subject there, and its words of force."""
