"""Reading plain text, typewritten or from an editor: RFCs, older standards, notes."""
