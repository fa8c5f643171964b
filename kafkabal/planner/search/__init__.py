"""The steps of the search, one phase a file; each works on the same :class:`~kafkabal.planner.search.state.State`."""
