"""Chunks of prose: standards, handbooks, planning documents."""
