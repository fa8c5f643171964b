"""A cluster in a file: JSON Lines, one line a broker and one a topic."""
