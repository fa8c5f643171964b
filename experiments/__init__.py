"""The experiments of the thesis that this project comes from, on a real cluster: ``python -m experiments``."""
