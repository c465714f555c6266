"""The command line: one module a group of commands, put together in app."""
