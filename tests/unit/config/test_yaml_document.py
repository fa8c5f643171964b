"""YAML from people, and from attackers."""

from pathlib import Path

import pytest

from kafkabal.config.yaml_document import read_yaml
from kafkabal.errors import InputFileError

ALIASES = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 2000, "nested too deeply"),
        ("a: " + "- " * 2000, "invalid YAML|nested too deeply"),
        (ALIASES, "line 19: holds more than 1,000,000 entries, those of its aliases included"),
        ("a: &a [*a]\n", "itself"),
        ("a: \udcff", "not UTF-8 text"),
        ("#" * (2**20 + 1), "longer than 1,048,576 bytes"),
    ],
)
def test_documents_that_would_exhaust_memory_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """Nesting, aliases of aliases, and files of any length."""
    path = tmp_path / "p.yaml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InputFileError, match=message):
        read_yaml(path)
