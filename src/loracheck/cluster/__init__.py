"""Engines on other machines, through Dask distributed: a pool of them is an engine too.

What is sent to a worker is in tasks.py, what it does with it in desk.py. opening.py finds or starts a cluster, pool.py
knows its workers, and engine.py stands behind the same protocol as any other engine. Dask is imported here alone, and
only for those who want a cluster.
"""
