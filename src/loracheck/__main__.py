"""`python -m loracheck` is `loracheck`."""

from loracheck.cli.main import main

main()
