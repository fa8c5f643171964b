"""Write all generated files, or with ``--check`` list those that are out of date."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.reference.generated_files import generated_files, outdated, write_all


def main() -> int:
    """Write the files, or check them."""
    root = Path.cwd()
    if not (root / "pyproject.toml").is_file():
        sys.exit("run this in the root of the repository")
    files = generated_files()
    if "--check" not in sys.argv:
        write_all(files, root)
        return 0
    late = outdated(files, root)
    sys.stderr.writelines(f"out of date: {path}\n" for path in late)
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
