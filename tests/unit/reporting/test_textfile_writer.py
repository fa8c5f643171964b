"""A textfile of metrics that cannot be written for a while."""

from __future__ import annotations

from pathlib import Path

from kafkabal.reporting.textfile_writer import TextfileWriter


def test_failures_in_a_row_are_warned_of_once(tmp_path: Path) -> None:
    """The file appears once its folder does; what fails after that is warned of again, and nothing is raised."""
    folder, warnings = tmp_path / "collector", list[str]()
    path = folder / "kafkabal.prom"
    file = TextfileWriter(path, warnings.append)

    file.write(b"a 1\n")
    file.write(b"a 2\n")
    assert len(warnings) == 1
    assert str(path) in warnings[0]

    folder.mkdir()
    file.write(b"a 3\n")
    assert path.read_bytes() == b"a 3\n"

    path.unlink()
    folder.rmdir()
    file.write(b"a 4\n")
    assert len(warnings) == 2
