"""The built-in policies, one per file."""
