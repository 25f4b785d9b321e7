"""What to ask: cases, suite files, built-in packs."""
