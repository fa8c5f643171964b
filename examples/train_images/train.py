"""Train a small convolutional network on the images of a topic; stop it at any moment, and it resumes where it was.

::

    python make_images.py shapes
    kafkabal create shapes -p 6 -r 1
    kafkabal produce shapes ./shapes
    python train.py shapes --epochs 12 --checkpoint shapes.npz
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from network import Network

from kafkabal.reader import Sample, TopicReader

CLASSES = ("circle", "cross", "square")
BATCH = 32


def as_arrays(samples: Sequence[Sample]) -> tuple[Any, Any]:
    """float32, shape (n, size, size), 0 to 1; and the number of each label."""
    images = np.stack([sample.decoded[:, :, 0] for sample in samples]).astype(np.float32) / 255
    return images, np.array([CLASSES.index(sample.label or "") for sample in samples])


def load(path: Path, network: Network) -> dict[str, Any] | None:
    """Weights into the network; the state of the reader that belongs to them, None where there is none."""
    if not path.exists():
        return None
    with np.load(path) as saved:
        network.weights |= {name: saved[name] for name in network.weights}
        state: dict[str, Any] = json.loads(str(saved["state"]))
    return state


def save(path: Path, network: Network, data: TopicReader) -> None:
    """Weights and state in one file, which appears whole: they never belong to different moments."""
    temporary = path.with_suffix(".tmp.npz")
    np.savez(temporary, state=json.dumps(data.state_dict()), **network.weights)  # type: ignore[arg-type]
    temporary.replace(path)


def report(right: int, seen: int) -> None:
    """Print the accuracy on samples that the network had not yet learned from."""
    print(f"{seen} samples, accuracy on each batch before learning from it: {right / seen:.3f}", flush=True)


def main() -> None:
    """Train, and print one line an epoch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic")
    parser.add_argument("--profile")
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()

    network = Network(size=24, classes=len(CLASSES))
    state = load(given.checkpoint, network) if given.checkpoint else None
    data = TopicReader(
        given.topic,
        profile=given.profile,
        bootstrap_servers=given.bootstrap_server,
        shuffle_seed=1,
        epochs=given.epochs,
        decode="image",
        tail="keep",
        cache=given.cache,
        state=state,
    )
    right, seen, began_s = 0, 0, time.monotonic()
    for samples in data.batches(BATCH):
        images, labels = as_arrays(samples)
        right += int((network.predict(images).argmax(axis=1) == labels).sum())
        seen += len(samples)
        network.learn(images, labels)
        if given.checkpoint:
            save(given.checkpoint, network, data)
        if seen >= data.manifest.samples:
            report(right, seen)
            right = seen = 0
    if seen:
        report(right, seen)
    elapsed_s = time.monotonic() - began_s
    print(f"{data.metrics.samples} samples in {elapsed_s:.1f} s, {data.metrics.waiting_fraction:.1%} of it waiting")


if __name__ == "__main__":
    main()
