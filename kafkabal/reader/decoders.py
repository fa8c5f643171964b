"""Decoders: turn a sample into what the trainer computes with."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Generator, Iterable, Mapping
from enum import StrEnum
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec.structs import replace

from kafkabal.errors import MissingCapabilityError, OperationError, UsageError, described, import_hint
from kafkabal.plain_functions import function_fault
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.sample import Sample

Decoder: TypeAlias = "Callable[[Sample], Any]"


class OnError(StrEnum):
    """What to do with a sample that the decoder refuses, or a damaged file."""

    RAISE = "raise"
    SKIP = "skip"
    """Leave it out, and count it; readers may then get unequal numbers of samples."""
    COUNT = "count"
    """Give it out with ``decoded`` None, and count it."""


def _image(sample: Sample) -> Any:
    """Pixels: uint8, shape (height, width, 3)."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingCapabilityError("decoding images needs Pillow", hint="pip install 'kafkabal[images]'") from error
    try:
        with Image.open(io.BytesIO(sample.value)) as image:
            return np.array(image.convert("RGB"))  # a copy: torch warns of arrays that cannot be written to
    except UnidentifiedImageError as error:  # Pillow's text names an object in memory
        raise ValueError("not an image that Pillow can read") from error


def _numpy(sample: Sample) -> Any:
    """An array written by ``numpy.save``."""
    try:
        return np.load(io.BytesIO(sample.value), allow_pickle=False)
    except (EOFError, OSError, ValueError) as error:  # numpy's text suggests loading such bytes unsafely
        raise ValueError("not an array in NumPy's .npy format") from error


# named functions, because data loaders that spawn workers pickle what they pass to them
def _text(sample: Sample) -> Any:
    return sample.value.decode()


def _json(sample: Sample) -> Any:
    return json.loads(sample.value.decode())  # json would take the bytes for UTF-16 if the first one is 0xff


DECODERS: Final[Mapping[str, Decoder]] = MappingProxyType(
    {
        "image": _image,
        "numpy": _numpy,
        "text": _text,
        "json": _json,
    }
)


def load_decoder(name: str | Decoder | None) -> Decoder | None:
    """A decoder by its name, by ``package.module:function``, or a function, which is returned as it is.

    Raises
    ------
    UsageError
        If it is unknown, or not a function that returns what it makes.
    """
    if name is None:
        return None
    if not isinstance(name, str):
        given: Any = name
        if not callable(given):
            raise UsageError(f"decode: neither a name nor a function: {given!r}")
        if (fault := function_fault(given)) is not None:
            raise UsageError(f"decode: {fault}")
        return name
    if name in DECODERS:
        return DECODERS[name]
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(
            f"unknown decoder: {name}", hint=f"choose from: {', '.join(DECODERS)}, or name a package.module:function"
        )
    try:
        found = getattr(import_module(module), function)
    except (Exception, SystemExit) as error:  # a plug-in may fail in any way, and the user has to fix that
        raise UsageError(f"cannot load decoder {name}: {described(error)}", hint=import_hint(error)) from error
    if (fault := function_fault(found)) is not None:
        raise UsageError(f"cannot load decoder {name}: {fault}")
    decoder: Decoder = found
    return decoder


def decode_samples(
    samples: Iterable[Sample],
    decode: Decoder | None,
    on_error: OnError,
    topic: str,
    metrics: ReaderMetrics,
    interrupted: Callable[[], None],
) -> Generator[Sample, None, None]:
    """Yield samples with their decoded values; count those that the decoder refuses, and files that are damaged.

    Parameters
    ----------
    samples
        That of a damaged file has an exception in place of its decoded value.
    interrupted
        Called if a sample is not yielded for a reason that is not its own, such as Ctrl-C.

    Raises
    ------
    OperationError
        If the decoder refuses one, or it is a damaged file, and ``on_error`` is to raise.
    MissingCapabilityError
        If the decoder needs a package that is not installed.
    """
    for sample in samples:
        try:
            fault, sample.decoded = sample.decoded, None
            if fault is not None:
                raise fault
            if decode is not None:
                # a copy: if the result refers to the sample, and the sample to it, only the garbage collector frees
                # them, after hundreds of samples
                sample = replace(sample, decoded=decode(sample))
        except MissingCapabilityError:  # of the machine, not of the sample
            interrupted()
            raise
        except Exception as error:
            metrics.corrupt += 1
            if on_error is OnError.RAISE:
                # a ValueError speaks for itself; the text of others, such as a KeyError, may be a name, or empty
                why = str(error) if isinstance(error, ValueError) and str(error) else described(error)
                raise OperationError(
                    f"{topic}-{sample.partition}: offset {sample.offset} cannot be decoded: {why}",
                    hint="on_error='skip' leaves such records out, on_error='count' returns them undecoded",
                ) from error
            if on_error is OnError.SKIP:
                continue
        except BaseException:
            interrupted()
            raise
        yield sample
