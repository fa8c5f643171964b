"""The class for torch's data loader; torch is imported only when this class is requested, and only if it is
installed."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kafkabal.reader.dataset import TopicReader
from kafkabal.reader.sample import Sample

if TYPE_CHECKING:  # a defined name would be used directly, and __getattr__ never called
    from kafkabal.reader.dataset import TopicReader as TopicDataset

__all__ = ["TopicDataset", "topic_dataset_type"]


@cache
def topic_dataset_type() -> type[TopicReader]:
    """:class:`TopicReader`, also derived from torch's ``IterableDataset`` if torch is installed."""
    if find_spec("torch") is None:
        return TopicReader
    from torch.utils.data import IterableDataset

    with suppress(ImportError):  # described by torch, but in a private module
        from torch.utils.data._utils.collate import default_collate_fn_map

        # without a collate_fn, torch would refuse samples: a batch is a list of them, as that of TopicReader.batches
        default_collate_fn_map[Sample] = lambda samples, **_: samples
    base: Any = IterableDataset
    made: type[TopicReader] = type("TopicDataset", (TopicReader, base), {"__module__": "kafkabal.reader"})
    return made


def __getattr__(name: str) -> Any:
    """``TopicDataset``, created on access: importing torch takes seconds."""
    if name != "TopicDataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return topic_dataset_type()
