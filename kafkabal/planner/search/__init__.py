"""The phases of the search, one a file; each works on one :class:`~kafkabal.planner.search.solution.Solution`."""
