"""How a run is reported: to people, to programs and to Prometheus."""
