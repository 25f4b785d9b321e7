"""The command line: one file a command. Modules here import nothing heavy until a command runs."""
