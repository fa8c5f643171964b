"""The names of all environment variables, for the warning of one that is misspelt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.group import variable_of
from kafkabal.cli.variables import PREFIX
from kafkabal.config.resolve import PROFILE_VARIABLE
from kafkabal.config.settings import KEYS
from kafkabal.sandbox.home import HOME_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.cli.reference.tree import Page


def listed(pages: Sequence[Page]) -> str:
    """``kafkabal/cli/variables.txt``: those of options, of settings that have none, and of the sandbox."""
    options = (option.flags for page in pages[1:] for option in page.options if "--help" not in option.flags)
    names = {*map(variable_of, options), *(key.variable for key in KEYS), PROFILE_VARIABLE, HOME_VARIABLE}
    return "".join(f"{name.removeprefix(PREFIX)}\n" for name in sorted(names))
