"""Terms and what they mean: entries of glossaries and of terms clauses, and sentences that define."""
