"""Terms and their meanings: entries of glossaries and of terms clauses, and defining sentences."""
