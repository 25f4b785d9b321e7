"""How to show it: each renderer sees only the report."""
