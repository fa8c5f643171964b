"""Output for people and programs: tables, JSON, Prometheus, HTML, plots, progress."""
