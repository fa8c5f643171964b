"""Generates a sample data set: files of varying size, in one folder per label, like an image data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_LABELS = ("cat", "dog", "bird", "fish")
_FILES = 2_400
_MEDIAN_BYTES = 90_000
"""ImageNet's photographs have a mean of some 110 kB; with the spread below these have 102."""
_SPREAD = 0.5
"""Standard deviation of the logarithm: a tenth of the files are at most half as large, a tenth at least twice as
large."""


def write_data_set(folder: Path, *, seed: int) -> Path:
    """Write files of random content with log-normal sizes around 90 kB.

    Returns
    -------
    Path
        The folder, which is created.
    """
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(np.log(_MEDIAN_BYTES), _SPREAD, _FILES)).astype(np.int64)
    for label in _LABELS:
        (folder / label).mkdir(parents=True)
    for i, size_bytes in enumerate(sizes.tolist()):
        (folder / _LABELS[i % len(_LABELS)] / f"{i:05}.img").write_bytes(rng.bytes(size_bytes))
    return folder
