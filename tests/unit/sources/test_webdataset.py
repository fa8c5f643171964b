"""WebDataset archives: samples, labels, and damage."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import IO, Any

import pytest

from kafkabal.errors import InputFileError
from kafkabal.sources import webdataset
from kafkabal.sources.row_reader_protocol import WantedFields
from kafkabal.sources.row_source import RowSource
from tests.unit.sources.records_of import Record, records_of


def archive(path: Path, files: list[tuple[str, bytes]]) -> Path:
    """An archive of these files, in this order."""
    with tarfile.open(path, "w") as tar:
        for name, data in files:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def read(source: RowSource) -> list[Record]:
    """Every record."""
    (part,) = source.listing().parts
    return records_of(source, part)


FILES = [("a/1.cls", b"7\n"), ("a/1.jpg", b"JPEG"), ("a/1.json", b"{}"), ("b/1.jpg", b"other"), ("README", b"x")]


def test_files_of_one_name_are_one_record(tmp_path: Path) -> None:
    """The value is the file that is not a description; its label and the other files are headers."""
    path = archive(tmp_path / "a.tar", FILES)
    first, second = read(RowSource(path))
    assert (first.value, first.headers) == (b"JPEG", [("path", b"a/1.jpg"), ("label", b"7"), ("json", b"{}")])
    assert (second.value, second.headers) == (b"other", [("path", b"b/1.jpg")])
    assert first.name == f"{path}, sample 1"


def test_files_of_a_sample_are_its_fields(tmp_path: Path) -> None:
    """Key, value and label can be any file of the sample, or the name of the sample."""
    path = archive(tmp_path / "a.tar", FILES[:3])
    (record,) = read(RowSource(path, key_field="__key__", value_field="json", label_field="cls"))
    assert (record.key, record.value) == (b"a/1", b"{}")
    assert dict(record.headers) == {"path": b"a/1.json", "jpg": b"JPEG", "label": b"7\n"}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:700], "sample 1: is not a tar archive, or cut off"),
        (lambda data: b"x" * 2000, "sample 1: is not a tar archive"),
        *[(lambda _, end=end: gzip.compress(b"")[:end], "sample 1: is not a tar archive") for end in range(1, 11)],
    ],
)
def test_damage_is_found(tmp_path: Path, damage: object, message: str) -> None:
    """A truncated archive, or a file that is not an archive, is an error that names the sample."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x" * 600)])
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(InputFileError, match=message):
        read(RowSource(path))


def test_two_files_of_one_extension_are_refused(tmp_path: Path) -> None:
    """Two files with the same extension are refused, since one of them would be lost."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x"), ("1.jpg", b"y")])
    with pytest.raises(InputFileError, match=r"has two files named '1\.jpg'"):
        read(RowSource(path))


@pytest.mark.parametrize("extension", ["__key__", "path", "sha256", "chunk"])
def test_reserved_extensions_are_refused(tmp_path: Path, extension: str) -> None:
    """As headers they would be taken for those that kafkabal reads: such a record could not be restored or joined."""
    path = archive(tmp_path / "a.tar", [(f"1.{extension}", b"x"), ("1.jpg", b"y")])
    with pytest.raises(InputFileError, match=rf"sample 1: extension of '1\.{extension}' is reserved"):
        read(RowSource(path))


def test_an_extension_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """It cannot be the name of a header: confluent-kafka crashes."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x"), ("1.\udcff", b"y")])
    with pytest.raises(InputFileError, match=r"extension of '1\.\\\\xff' is not UTF-8"):
        read(RowSource(path))


def test_a_hard_link_is_refused(tmp_path: Path) -> None:
    """Its bytes are elsewhere in the archive; leaving it out would lose a file."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x")])
    with tarfile.open(path, "a") as tar:
        member = tarfile.TarInfo("2.jpg")
        member.type, member.linkname = tarfile.LNKTYPE, "1.jpg"
        tar.addfile(member)
    with pytest.raises(InputFileError, match=r"'2\.jpg' is a hard link"):
        read(RowSource(path))


def test_a_missing_value_is_refused(tmp_path: Path) -> None:
    """A sample without the requested file is named."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x"), ("2.png", b"y")])
    with pytest.raises(InputFileError, match="sample 2: missing field 'jpg'"):
        read(RowSource(path, value_field="jpg"))


def test_members_that_were_read_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 300 files the archive remembers one at most: those of a million would take 1 GB of memory."""
    opened: list[Any] = []
    open_archive = webdataset._opened

    def remember(file: IO[bytes]) -> tarfile.TarFile:
        opened.append(open_archive(file))
        return opened[0]  # type: ignore[no-any-return]

    monkeypatch.setattr(webdataset, "_opened", remember)
    path = archive(tmp_path / "a.tar", [(f"{n}.jpg", b"x" * 10_000) for n in range(300)])
    with path.open("rb") as file:
        kept = [len(opened[0].members) for _ in webdataset.webdataset_rows(file, 0, WantedFields())]
    assert len(kept) > 1
    assert max(kept) <= 1
