"""What a run observes of the cluster: placements, progress, load, disk room, failed destinations."""
