"""The built-in policies, one a file."""
