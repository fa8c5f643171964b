"""How to reach a cluster and with which defaults: profiles, environment, client.properties."""
