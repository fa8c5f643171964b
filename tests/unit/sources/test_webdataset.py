"""WebDataset archives: samples, labels, and damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import cramjam
import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources import webdataset
from kafkabal.sources.row_formats import RowFormat
from kafkabal.sources.row_reader_protocol import SelectedFields
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import RecordsToSend
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


def test_extensions_mean_the_same_in_upper_case(tmp_path: Path) -> None:
    """A label in .CLS, a description in .Txt and an image in .JPG are those of .cls, .txt and .jpg; names stay."""
    path = archive(tmp_path / "a.tar", [("1.CLS", b"7\n"), ("1.Txt", b"a cat"), ("1.JPG", b"JPEG")])
    (found,) = read(RowSource(path))
    assert (found.value, found.headers) == (b"JPEG", [("path", b"1.JPG"), ("label", b"7"), ("Txt", b"a cat")])
    (found,) = read(RowSource(path, value_field="txt", key_field="cls"))
    assert (found.value, found.headers) == (b"a cat", [("path", b"1.Txt"), ("label", b"7"), ("JPG", b"JPEG")])
    assert found.key == b"7\n"


def test_an_archive_without_any_sample_is_an_error(tmp_path: Path) -> None:
    """Files without an extension belong to no sample; if there are no others, nothing would be sent, without a word."""
    path = archive(tmp_path / "a.tar", [("README", b"x"), ("data/0001", b"y"), ("data/.hidden", b"z")])
    with pytest.raises(InputFileError, match=r"a\.tar: has no samples: 3 files without an extension"):
        read(RowSource(path))
    assert read(RowSource(archive(tmp_path / "b.tar", []))) == []


def test_files_of_a_sample_are_its_fields(tmp_path: Path) -> None:
    """Key, value and label can be any file of the sample, or the name of the sample."""
    path = archive(tmp_path / "a.tar", FILES[:3])
    (record,) = read(RowSource(path, key_field="__key__", value_field="json", label_field="cls"))
    assert (record.key, record.value) == (b"a/1", b"{}")
    assert dict(record.headers) == {"path": b"a/1.json", "jpg": b"JPEG", "label": b"7\n"}


def test_names_that_are_no_text_survive(tmp_path: Path) -> None:
    """A name that is not UTF-8 reaches key and header as its raw bytes."""
    path = archive(tmp_path / "a.tar", [("\udcff/1.jpg", b"x")])
    (record,) = read(RowSource(path, key_field="__key__"))
    assert (record.key, dict(record.headers)["path"]) == (b"\xff/1", b"\xff/1.jpg")


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


def whole(folder: Path) -> bytes:
    """An archive of ten samples of 600 bytes, of which each takes three blocks of 512 bytes."""
    return archive(folder / "whole.tar", [(f"{n}.jpg", b"x" * 600) for n in range(10)]).read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: 3 * 512 * 4], "sample 4: .*its end is missing"),
        (lambda data: data[: 3 * 512 * 4 + 100], "sample 4: .*truncated header"),
        (lambda data: data[: 3 * 512 * 4] + b"X" + data[3 * 512 * 4 + 1 :], "sample 4: .*bad checksum"),
        (lambda data: data[: 3 * 512 * 4] + b"\1" * 512 + data[3 * 512 * 5 :], "sample 4: .*invalid header"),
        (lambda data: data + data, "sample 10: .*another archive follows"),
        (lambda data: gzip.compress(data) * 2, "sample 10: .*another archive follows"),
        (lambda data: gzip.compress(data)[:-8] + b"12345678", "sample 1: .*CRC check failed"),
        (lambda data: bz2.compress(data)[:-10], "cut off"),
        (lambda data: lzma.compress(data)[:-10], "cut off"),
        *[
            (lambda data, pack=pack: pack(data) + b"X" + pack(data)[1:], "sample 10?: is not a tar archive, or cut off")
            for pack in (gzip.compress, bz2.compress, lzma.compress)
        ],
    ],
)
def test_no_sample_is_lost_behind_damage(tmp_path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    """tarfile takes damage behind the first file for the end of the archive, reads one archive of a file only, and
    verifies no checksum of compressed data."""
    path = tmp_path / "a.tar"
    path.write_bytes(damage(whole(tmp_path)))
    with pytest.raises(InputFileError, match=message):
        read(RowSource(path))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.tar", lambda data: data),
        ("a.tar.gz", gzip.compress),
        ("a.TGZ", lambda data: gzip.compress(data[:3000]) + gzip.compress(data[3000:])),
        ("a.tar.bz2", bz2.compress),
        ("b.tar.bz2", lambda data: bz2.compress(data[:3000]) + bz2.compress(data[3000:]) + bytes(512)),
        ("a.tar.xz", lzma.compress),
        ("b.tar.xz", lambda data: lzma.compress(data[:3000]) + bytes(4) + lzma.compress(data[3000:]) + bytes(512)),
        ("a.tar.zst", cramjam.zstd.compress),
        ("a.tzst", lambda data: bytes(cramjam.zstd.compress(data[:3000])) + cramjam.zstd.compress(data[3000:])),
    ],
)
def test_compressed_archives_are_known_by_name(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    """All samples are read, and progress, in bytes of the file, ends at its size."""
    if "zst" in name:
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(pack(whole(tmp_path)))
    source = RowSource(path)
    assert [record.value for record in read(source)] == [b"x" * 600] * 10
    blocks = list(source.blocks([RecordsToSend(0, 0, source.listing().parts[0])]))
    assert sum(block.progress_bytes for block in blocks) == path.stat().st_size


def test_the_manifest_of_a_compressed_archive_does_not_depend_on_how_its_format_was_given(tmp_path: Path) -> None:
    """Earlier versions had to be given the format, so it is one of the options that the records depend on."""
    given = RowSource(tmp_path / "a.tar.gz", row_format=RowFormat.WEBDATASET)
    assert RowSource(tmp_path / "a.tar.gz").options == given.options == {"--format": "webdataset"}
    assert RowSource(tmp_path / "a.tar").options == {}


def test_two_files_of_one_extension_are_refused(tmp_path: Path) -> None:
    """Two files with the same extension are refused, since one of them would be lost."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x"), ("1.jpg", b"y")])
    with pytest.raises(InputFileError, match=r"has two files named '1\.jpg'"):
        read(RowSource(path))


@pytest.mark.parametrize(
    "name", ["../1.jpg", "/a/1.jpg", "a/../../1.jpg", ".kafkabal-pieces/1.jpg", f"{'x' * 300}.jpg"]
)
def test_a_file_that_could_not_be_restored_is_refused(tmp_path: Path, name: str) -> None:
    """A path that 'kafkabal read --to' refuses is an error that names the sample; nothing is sent first."""
    path = archive(tmp_path / "a.tar", [("./0.jpg", b"x"), (name, b"y")])
    with pytest.raises(InputFileError, match=rf"sample 2: '{name[:80]}'"):
        list(RowSource(path).find_too_large(RowSource(path).listing().parts, 1 << 20, lambda: None))


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


@pytest.mark.parametrize(("kind", "called"), [(tarfile.LNKTYPE, "hard"), (tarfile.SYMTYPE, "symbolic")])
def test_a_link_is_refused(tmp_path: Path, kind: bytes, called: str) -> None:
    """Its bytes are elsewhere; leaving it out would lose a file, or all of them if they are in a cache of downloads."""
    path = archive(tmp_path / "a.tar", [("1.jpg", b"x")])
    with tarfile.open(path, "a") as tar:
        member = tarfile.TarInfo("2.jpg")
        member.type, member.linkname = kind, "1.jpg"
        tar.addfile(member)
    with pytest.raises(InputFileError, match=rf"'2\.jpg' is a {called} link") as refused:
        read(RowSource(path))
    assert "--dereference" in (refused.value.hint or "")


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:50], lambda data: data + b"x" * 100])
def test_damage_of_a_zstd_archive_is_found(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """An archive that is cut off, or followed by something else, is refused."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.tar.zst"
    path.write_bytes(damage(bytes(cramjam.zstd.compress(whole(tmp_path)))))
    with pytest.raises(InputFileError, match="is not a tar archive, or cut off"):
        read(RowSource(path))


def test_zstd_requires_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint names the extra that brings it."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "a.tar.zst"
    path.write_bytes(cramjam.zstd.compress(whole(tmp_path)))
    with pytest.raises(UsageError, match="requires pyarrow") as refused:
        read(RowSource(path))
    assert refused.value.hint == "pip install 'kafkabal[parquet]'"


def test_a_file_that_no_record_can_hold_is_refused(tmp_path: Path) -> None:
    """A sparse file of terabytes takes no space in an archive, and would be read into memory."""
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("1.jpg")
        member.pax_headers = {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "1.jpg",
            "GNU.sparse.realsize": str(3 << 40),
        }
        sparse_map = b"0\n".ljust(tarfile.BLOCKSIZE, b"\0")
        member.size = len(sparse_map)
        tar.addfile(member, io.BytesIO(sparse_map))
    with pytest.raises(InputFileError, match=r"sample 1: '1\.jpg' is larger than any record may be"):
        read(RowSource(path))


def test_a_sample_that_no_record_can_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names with a dot before their number make one sample of a whole archive, which memory need not hold."""
    monkeypatch.setattr(webdataset, "MOST_RECORD_BYTES", 1000)
    path = archive(tmp_path / "a.tar", [("a.jpg", b"x"), *[(f"img.{n}.jpg", b"y" * 400) for n in range(9)]])
    with pytest.raises(InputFileError, match="sample 2: 'img' is larger than any record may be: 1,200 bytes"):
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
        kept = [len(opened[0].members) for _ in webdataset.webdataset_rows(file, 0, SelectedFields())]
    assert len(kept) > 1
    assert max(kept) <= 1
