"""Configurations of assistants: their places and forms, and the commands that print, write and remove an entry."""
