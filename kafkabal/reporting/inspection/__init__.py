"""The output of ``inspect``: figures of a cluster by holder, its scores, and a verdict in one sentence."""
