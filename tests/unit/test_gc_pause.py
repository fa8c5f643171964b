"""Garbage collection is paused, and restored as it was."""

import gc

import pytest

from kafkabal.gc_pause import cycle_collection_paused


@pytest.mark.parametrize("was_on", [True, False])
def test_the_search_is_as_before_when_all_is_done(was_on: bool) -> None:
    """Collection is off in the block and afterwards on only if it was before, whatever the block raised."""
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    try:
        with pytest.raises(ValueError, match="inside: False"), cycle_collection_paused():
            raise ValueError(f"inside: {gc.isenabled()}")
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()
