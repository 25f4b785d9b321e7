"""Sweep: many checks that share views. axes.py makes the cells, running.py checks them, results.py is the outcome."""
