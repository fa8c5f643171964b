"""One module a command: parse, call the library, show."""
