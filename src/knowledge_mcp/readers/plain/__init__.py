"""Plain text as typewriters and editors set it: RFCs, older standards, notes."""
