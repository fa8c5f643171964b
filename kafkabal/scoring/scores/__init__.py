"""The built-in scores, one per file."""
