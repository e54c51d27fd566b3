"""What a passage is: normative or not, definition, requirement, reference, clause; pure text to facts."""
