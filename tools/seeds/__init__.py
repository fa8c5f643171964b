"""Random clusters, plans and disturbances by the thousand, each identified by a number."""
