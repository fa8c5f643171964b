"""A compiled C library is used only with the source that it was compiled from."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hatch_build
from kafkabal.clusters.kafka import native_records
from kafkabal.compiled_library import is_usable
from kafkabal.producer import routing_plugin

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / source for source in hatch_build.SOURCES]
LOADERS = {
    "kafkabal_routing": (routing_plugin, routing_plugin._loaded.__wrapped__),
    "kafkabal_records": (native_records, native_records._library.__wrapped__),
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not (shutil.which("gcc") or shutil.which("cc")), reason="there is no C compiler"
)


@pytest.fixture(params=SOURCES, ids=lambda source: source.stem)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a source, compiled as for a wheel."""
    copy = tmp_path / request.param.name
    shutil.copy(request.param, copy)
    assert hatch_build._compile(copy) is None
    return copy


@pytest.fixture
def load(source: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Loads the copy where the package's own library is loaded."""
    module, loaded = LOADERS[source.stem]
    monkeypatch.setattr(module, "LIBRARY", hatch_build.library_of(source))
    return loaded


def test_a_library_is_used_with_its_source(source: Path, load: Callable[[], object]) -> None:
    """Beside the source that it was compiled from, and without a source."""
    assert load() is not None
    source.unlink()
    assert load() is not None


def test_a_library_of_an_older_source_is_not_used(source: Path, load: Callable[[], object]) -> None:
    """As after ``git pull`` in an editable install; a warning says how to compile it again."""
    source.write_text(source.read_text() + "/* changed */\n")
    with pytest.warns(UserWarning, match=rf"outdated: .*{source.stem}\.so; .* 'python hatch_build.py'"):
        assert load() is None


def test_a_library_that_tells_no_source_is_not_used(source: Path) -> None:
    """As compiled by versions of kafkabal that did not write it into the library."""
    text = source.read_text()
    source.write_text("".join(line for line in text.splitlines(keepends=True) if "SOURCE_SHA256" not in line))
    assert hatch_build._compile(source) is None
    with pytest.warns(UserWarning, match="outdated"):
        assert not is_usable(hatch_build.library_of(source))


def test_a_file_that_is_no_library_is_not_used(source: Path) -> None:
    """As one for another platform: nothing is said, as where none could be compiled."""
    library = hatch_build.library_of(source)
    library.write_bytes(b"\x7fELF")
    assert not is_usable(library)
