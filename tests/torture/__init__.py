"""What a hard life does to loracheck: damaged files, full disks, kills, crowds and sheer size.

`make torture` runs it, outside the tests: it takes up to half an hour.
"""
