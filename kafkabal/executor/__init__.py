"""From a plan to a changed cluster: checks, batches, throttles, journal, resume and rollback."""
