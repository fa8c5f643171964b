"""Where the replicas of new topics go."""
