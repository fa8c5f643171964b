"""The experiments of the thesis behind this project, on a real cluster: ``python -m experiments``."""
