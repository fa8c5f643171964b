"""Shared by all commands: options, settings, context, errors, output."""
