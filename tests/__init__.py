"""The tests, one folder for each room, and `house` for what holds everywhere."""
