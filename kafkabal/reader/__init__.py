"""From a topic to the trainer: one deterministic order of samples, shared by any number of readers.

``manifest`` pins what is read, ``order`` says which sample stands where, ``progress`` how far an epoch has got, and
``share`` what one of many readers takes. ``schedule`` brings these together, ``prefetch`` loads blocks ahead
of it, and ``dataset`` is what a trainer iterates over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkabal.reader.checkpoint import combine_states
from kafkabal.reader.dataset import TopicReader
from kafkabal.reader.manifest import Manifest, load_manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.sample import Sample
from kafkabal.reader.share import Tail

if TYPE_CHECKING:
    from kafkabal.reader.dataset import TopicReader as TopicDataset

__all__ = [
    "Manifest",
    "ReaderMetrics",
    "Sample",
    "Tail",
    "TopicDataset",
    "TopicReader",
    "combine_states",
    "load_manifest",
]


def __getattr__(name: str) -> Any:
    """``TopicDataset``: a :class:`TopicReader`, and an ``IterableDataset`` of torch where that is installed."""
    if name != "TopicDataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kafkabal.reader.torch_dataset import topic_dataset_type

    return topic_dataset_type()
