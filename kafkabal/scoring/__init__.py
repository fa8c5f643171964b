"""One registry of scoring functions that every command shares: inspect prints them, rebalance evens them."""
