"""The remote client and the engine's endpoints."""
