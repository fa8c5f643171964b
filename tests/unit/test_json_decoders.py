"""Decoders of the same type created in several threads at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import kafkabal

RACE = """
import sys
import threading
from typing import Annotated

import msgspec

from kafkabal.json_decoders import converted, json_decoder

THREADS = 8
sys.setswitchinterval(1e-6)
Count = Annotated[int, msgspec.Meta(ge=0)]
wrong = []
for _ in range(300):

    class Inner(msgspec.Struct, frozen=True):
        a: Count = 0
        b: list[str] = []
        c: dict[str, int] | None = None

    class Outer(msgspec.Struct, frozen=True):
        x: list[Inner]
        y: Count
        z: str | None = None

    def create(number: int, start: threading.Barrier = threading.Barrier(THREADS), outer: type = Outer) -> None:
        start.wait()
        found = (
            json_decoder(outer).decode(b'{"x":[{"a":1,"b":["s"]}],"y":3}')
            if number % 2
            else converted({"x": [{"a": 1, "b": ["s"]}], "y": 3}, outer)
        )
        if (found.y, found.x[0].b) != (3, ["s"]):
            wrong.append(found)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
sys.exit(bool(wrong))
"""


def test_threads_may_create_decoders_of_one_type_at_once() -> None:
    """Each decodes correctly, and the process survives; this happens when a fleet is read."""
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_decoders_of_types_are_created_in_one_place_only() -> None:
    """Anywhere else the threads of a fleet could create the first two of a type at the same time."""
    folder = Path(kafkabal.__file__).parent
    typed = re.compile(r"msgspec\.(json|msgpack)\.(Decoder\([^)]|decode\(.*type=)|msgspec\.convert\(")
    found = [path.name for path in folder.rglob("*.py") if typed.search(path.read_text())]
    assert found == ["json_decoders.py"]
