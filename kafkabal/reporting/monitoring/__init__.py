"""Files for Prometheus, Alertmanager, Grafana and systemd, made for the clusters of the user."""
