"""Damaged files and wrong words: every command ends with a line and an exit code of the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.errors import ExitCode
from tools.fuzz.cases import draw, sound_cases
from tools.fuzz.damaged_produce_sources import source_fault
from tools.fuzz.run_case import run_case
from tools.fuzz.sound_files import write_sound_files

SEED = 20261122
GROUPS = 10
GROUP_CASES = 25


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Valid files."""
    folder = tmp_path_factory.mktemp("sound")
    write_sound_files(folder)
    return folder


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_case_ends_in_a_traceback(sound: Path, group: int) -> None:
    """Nor with another exit code, nor silently, nor after 20 s, nor with 500 MB; 20,000 more: python -m tools.fuzz."""
    numbers = range(group * GROUP_CASES, (group + 1) * GROUP_CASES)
    faults = {number: fault for number in numbers if (fault := run_case(draw(SEED, number, sound)).fault)}
    assert not faults


def test_sound_files_are_taken(sound: Path) -> None:
    """The files are valid before they are damaged: otherwise every case would end at the same first check."""
    endings = {case.words: run_case(case) for case in sound_cases(sound) if "--nagios" not in case.words}
    assert {words: e.err for words, e in endings.items() if e.fault or e.code == ExitCode.USAGE} == {}


def test_no_damaged_source_ends_in_a_traceback() -> None:
    """Rows of every format that are cut, flipped or repeated are refused in one line."""
    pytest.importorskip("pyarrow")
    assert {number: fault for number in range(100) if (fault := source_fault(SEED, number))} == {}
