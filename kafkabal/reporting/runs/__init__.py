"""Reports of a run: for people, for programs and for Prometheus."""
