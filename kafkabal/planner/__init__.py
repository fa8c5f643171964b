"""From a problem to a plan: rules, bounds and search; pure and deterministic."""
