"""The executor itself, checked in every state that it can reach on a small cluster."""
