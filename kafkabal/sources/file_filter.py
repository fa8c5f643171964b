"""Which files of a data set are sent: the patterns of ``--include`` and ``--exclude``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase


class FileFilter:
    """Takes a file if it matches one of ``include`` (or that is empty) and none of ``exclude``.

    Patterns are of paths within the data set, as in a ``.gitignore``: a folder means all in it, and a name without
    ``/`` a file or folder in any folder; but ``*`` matches ``/`` too.
    """

    def __init__(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._include = _forms(include)
        self._exclude = _forms(exclude)

    @property
    def options(self) -> Sequence[str]:
        """The options that patterns were given with."""
        given = {"--include": self._include, "--exclude": self._exclude}
        return [option for option, patterns in given.items() if patterns]

    def takes(self, name: str) -> bool:
        """Whether a file is sent."""
        return (not self._include or _matches(name, self._include)) and not _matches(name, self._exclude)

    def may_take(self, name: str) -> bool:
        """Whether a file would be sent if it could be read, or anything in a folder (a name that ends with ``/``)."""
        return not _matches(name, self._exclude) if name.endswith("/") else self.takes(name)


def _matches(name: str, forms: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, form) for form in forms)


def _forms(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns for :func:`fnmatchcase`, each for the files that it names and for all in the folders that it names."""
    forms: list[str] = []
    for pattern in patterns:
        path = pattern.removeprefix("./")
        named = path.removesuffix("/")
        is_name = path == pattern and "/" not in named  # in any folder
        first, *rest = f"{'**/' * is_name}{named}".split("**/")
        of_pattern = [first]
        for piece in rest:
            of_pattern = list(dict.fromkeys(start + folders + piece for start in of_pattern for folders in ("**/", "")))
        forms += [f"{form}/*" for form in of_pattern] + (of_pattern if named == path else [])
    return tuple(forms)
