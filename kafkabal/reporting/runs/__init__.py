"""How a run of the executor is told: to people, to programs and to Prometheus."""
