"""Completion scripts for bash, zsh and fish, generated from the commands."""
