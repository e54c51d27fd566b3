"""The language of a text; words of many languages: of force and denial, for places and titles of sections."""
