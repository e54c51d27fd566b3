"""Sources that are kept in sync: registered, synced, followed."""
