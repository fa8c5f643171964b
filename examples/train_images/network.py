"""A convolutional network small enough for numpy: 3 x 3 convolution, ReLU, mean over 4 x 4 fields, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Array = np.ndarray[Any, np.dtype[np.float32]]
FILTERS, KERNEL, FIELD = 16, 3, 4


class Network:
    """Learns by stochastic gradient descent with momentum.

    Parameters
    ----------
    size
        Height and width of the images, in pixels.
    """

    def __init__(self, size: int, classes: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._fields = (size - KERNEL + 1) // FIELD
        inputs = self._fields**2 * FILTERS
        self.weights = {
            "filters": rng.normal(0, 0.4, (KERNEL * KERNEL, FILTERS)).astype(np.float32),
            "dense": rng.normal(0, 1 / np.sqrt(inputs), (inputs, classes)).astype(np.float32),
            "bias": np.zeros(classes, np.float32),
        }
        self._speed = {name: np.zeros_like(weight) for name, weight in self.weights.items()}

    def predict(self, images: Array) -> Array:
        """float32, shape (n, classes): probabilities of images of shape (n, size, size), 0 to 1."""
        return self._forward(images)[-1]

    def learn(self, images: Array, labels: np.ndarray[Any, np.dtype[np.int64]], rate: float = 0.3) -> float:
        """Take a step; returns the mean cross entropy before it."""
        patches, active, pooled, probability = self._forward(images)
        n = len(images)
        loss = -float(np.log(probability[np.arange(n), labels] + 1e-9).mean())
        error = probability.copy()
        error[np.arange(n), labels] -= 1
        error /= n
        back = (error @ self.weights["dense"].T).reshape(n, self._fields, 1, self._fields, 1, FILTERS) / FIELD**2
        spread = np.broadcast_to(back, (n, self._fields, FIELD, self._fields, FIELD, FILTERS)) * active
        self._step("filters", np.tensordot(patches, spread, axes=([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])), rate)
        self._step("dense", pooled.T @ error, rate)
        self._step("bias", error.sum(axis=0), rate)
        return loss

    def _step(self, name: str, gradient: Array, rate: float) -> None:
        self._speed[name] = 0.9 * self._speed[name] - rate * gradient
        self.weights[name] += self._speed[name]

    def _forward(self, images: Array) -> tuple[Array, Any, Array, Array]:
        n, side = len(images), self._fields * FIELD
        windows = sliding_window_view(images, (KERNEL, KERNEL), axis=(1, 2))[:, :side, :side]
        patches = windows.reshape(n, self._fields, FIELD, self._fields, FIELD, KERNEL * KERNEL)
        convolved = patches @ self.weights["filters"]
        active = convolved > 0
        pooled = (convolved * active).mean(axis=(2, 4)).reshape(n, -1)
        scores = pooled @ self.weights["dense"] + self.weights["bias"]
        exponent = np.exp(scores - scores.max(axis=1, keepdims=True))
        return patches, active, pooled, exponent / exponent.sum(axis=1, keepdims=True)
