"""The built-in scores, one a file."""
