"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# quick: the same few examples on every run; thorough: many new ones, asked for by HYPOTHESIS_PROFILE=thorough
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "thorough", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
