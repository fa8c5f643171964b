"""One module per command: parse, call the library, show."""
