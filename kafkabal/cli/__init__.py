"""The command line: one module a subcommand, each parsing, calling and showing."""
