"""How names that others chose are displayed."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from kafkabal.printable import ESCAPED, printable, shell_word, with_long_words_cut


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain-name_1.log", "plain-name_1.log"),
        ("größe 日本", "größe 日本"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\x9b2Jb", "a\\x9b2Jb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\ud800b", "a\\ud800b"),
        ("a\nb", "a\\nb"),
        (os.fsdecode(b"caf\xe9.jsonl"), "caf\\xe9.jsonl"),
    ],
)
def test_terminal_control_characters_are_escaped(text: str, shown: str) -> None:
    """Controls, bidirectional overrides and lone surrogates are escaped; letters of any script stay."""
    assert printable(text) == shown
    printable(text).encode()


@pytest.mark.parametrize(
    "name", [b"plan.json", b"a b's.json", b"caf\xe9.json", b"\x1b[2Jx\\'1.json", "\x85 é".encode()]
)
def test_a_command_in_a_hint_names_the_very_file(name: bytes) -> None:
    """A word of a suggested command is printable, and the shell that it is pasted into gets every byte of the name."""
    word = shell_word(os.fsdecode(name))
    assert word.isprintable()
    assert printable(word) == word
    done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True, env={})
    assert done.stdout == name


def test_our_own_line_breaks_may_stay() -> None:
    """Only the characters to keep are kept."""
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_a_word_of_thousands_of_characters_is_cut_in_its_middle() -> None:
    """A very long word is shortened in its middle; every word as short as a path is shown in full."""
    path = "/" + "d" * 255 + "/" + "f" * 100
    assert with_long_words_cut(f"cannot read: '{path}'") == f"cannot read: '{path}'"
    assert with_long_words_cut(f"unknown topic: {'a' * 5000}z, see") == f"unknown topic: {'a' * 200}…{'a' * 98}z, see"


def test_what_an_encoding_lacks_is_written_as_in_json() -> None:
    """A letter that ASCII lacks, one beyond 16 bits, and a byte of a file name that is no UTF-8 stay valid JSON."""
    text = "ü\U0001f600\udcff"
    written = json.dumps(text, ensure_ascii=False).encode("ascii", ESCAPED)
    assert written == rb'"\u00fc\ud83d\ude00\udcff"'
    assert json.loads(written) == text
