"""Draw a small data set: circles, squares and crosses as PNG files, a folder a class; nothing is downloaded."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SIZE = 24


def draw(shape: str, rng: np.random.Generator) -> Image.Image:
    """One picture: a shape of some size somewhere, on noise."""
    image = Image.fromarray(rng.integers(0, 60, (SIZE, SIZE), dtype=np.uint8))
    radius = int(rng.integers(4, 8))
    x, y = rng.integers(radius, SIZE - radius, 2).tolist()
    box, bright, pen = (
        (x - radius, y - radius, x + radius, y + radius),
        int(rng.integers(160, 255)),
        ImageDraw.Draw(image),
    )
    if shape == "circle":
        pen.ellipse(box, outline=bright, width=2)
    elif shape == "square":
        pen.rectangle(box, outline=bright, width=2)
    else:
        pen.line((x - radius, y, x + radius, y), fill=bright, width=2)
        pen.line((x, y - radius, x, y + radius), fill=bright, width=2)
    return image


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=300, help="pictures of each class")
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    for shape in ("circle", "square", "cross"):
        (given.folder / shape).mkdir(parents=True, exist_ok=True)
        for number in range(given.each):
            draw(shape, rng).save(given.folder / shape / f"{number:04}.png")


if __name__ == "__main__":
    main()
