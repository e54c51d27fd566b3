"""What the Makefile and CI run beside the tests."""
