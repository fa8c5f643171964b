"""What people and programs see: tables, JSON, Prometheus, HTML, plots, progress."""
