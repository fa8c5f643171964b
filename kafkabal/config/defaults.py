"""Values that hold where neither a flag, nor the environment, nor a profile says otherwise."""

DEFAULT_PLAN_TOLERANCE = 0.09
"""Half the width of the bands that plans aim at, as a share of the fair load."""
DEFAULT_CHECK_TOLERANCE = 0.10
"""Half the width of the bands that a cluster is judged by: a little wider, so that what a plan reached stays balanced
while data is written."""
DEFAULT_LOG_DIR_LIMIT = 0.85
"""Share of a volume that is never exceeded."""

DEFAULT_DEAD_AFTER_S = 600.0
"""Seconds that a broker has to be dead before ``rebalance`` copies its replicas: longer than a restart takes."""
