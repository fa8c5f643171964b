"""Events posted to Alertmanager, Slack, or any webhook."""
