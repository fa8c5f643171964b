"""Drawn clusters, plans and disturbances, by the thousand, each named by a number."""
