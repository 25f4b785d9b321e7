"""Sweep: many checks that share views. Cells (axes.py) to plans (reading.py) to outcomes (running.py) to a Sweep."""
