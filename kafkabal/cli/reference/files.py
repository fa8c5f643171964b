"""Which files are generated, and whether those on disk are up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.reference import bash, fish, man, markdown, variables, zsh
from kafkabal.cli.reference.tree import pages
from kafkabal.files import replacing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FOLDERS = ("completions", "man")


def generated_files() -> Mapping[str, str]:
    """Text by path within the repository."""
    found = pages()
    return {
        "completions/kafkabal.bash": bash.script(found),
        "completions/_kafkabal": zsh.script(found),
        "completions/kafkabal.fish": fish.script(found),
        "docs/commands.md": markdown.commands(found),
        "docs/exit-codes.md": markdown.exit_codes(),
        "docs/policies.md": markdown.policies(),
        "docs/scores.md": markdown.scores(),
        "kafkabal/cli/variables.txt": variables.listed(found),
        **{f"man/{man.file_name(page)}": man.man_page(page, found) for page in found},
    }


def write_all(files: Mapping[str, str], root: Path) -> None:
    """Write the files, and remove what was generated for commands that are gone."""
    for path in _strays(files, root):
        (root / path).unlink()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(root / name) as file:
            file.write(text.encode())


def outdated(files: Mapping[str, str], root: Path) -> list[str]:
    """Paths whose content differs, is missing, or should not be there."""
    changed = [n for n, text in files.items() if not (root / n).is_file() or (root / n).read_text() != text]
    return sorted([*changed, *_strays(files, root)])


def _strays(files: Mapping[str, str], root: Path) -> list[str]:
    there = [path for folder in _FOLDERS for path in (root / folder).glob("*")]
    return [name for path in there if (name := str(path.relative_to(root))) not in files]
