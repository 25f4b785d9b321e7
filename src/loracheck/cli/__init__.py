"""The command line, a file for each few commands. Modules here import nothing heavy until a command runs."""
