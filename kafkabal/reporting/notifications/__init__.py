"""Events posted to where people look: Alertmanager, Slack, or any webhook."""
