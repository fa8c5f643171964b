"""Checks the executor in every state that it can reach on a small cluster."""
