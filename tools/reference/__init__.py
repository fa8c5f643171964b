"""Generates files from the commands: completions, man pages, and the reference in ``docs/``."""
