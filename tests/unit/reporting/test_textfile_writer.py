"""A textfile of metrics that cannot be written for a while."""

from __future__ import annotations

from pathlib import Path

from kafkabal.reporting.textfile_writer import TextfileWriter


def test_failures_in_a_row_are_warned_of_once(tmp_path: Path) -> None:
    """The file appears once its folder does; what fails after that is warned of again, and nothing is raised."""
    folder, warnings = tmp_path / "collector", list[str]()
    path = folder / "kafkabal.prom"
    file = TextfileWriter(path, {"cluster": "c"}, lambda: 0.0, warnings.append)

    file.write([("a", "A value.", 1)])
    file.write([("a", "A value.", 2)])
    assert len(warnings) == 1
    assert str(path) in warnings[0]

    folder.mkdir()
    file.write([("a", "A value.", 3)])
    assert path.read_text().splitlines()[-1] == 'a{cluster="c"} 3.0'

    path.unlink()
    folder.rmdir()
    file.write([("a", "A value.", 4)])
    assert len(warnings) == 2
