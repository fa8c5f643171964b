"""Files for Prometheus, Alertmanager, Grafana and systemd, generated for the user's clusters."""
