"""The names of all environment variables, for the warning about misspelt ones."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.cli.framework.completion.command_pages import Page
from kafkabal.cli.framework.environment_variables import PREFIX, variable_of
from kafkabal.config import KEYS, PROFILE_VARIABLE
from kafkabal.sandbox import HOME_VARIABLE


def listed(pages: Sequence[Page]) -> str:
    """``cli/framework/environment_variables.txt``: names for options, for settings without an option, and the
    sandbox's."""
    options = (option.flags for page in pages[1:] for option in page.options if "--help" not in option.flags)
    names = {*map(variable_of, options), *(key.variable for key in KEYS), PROFILE_VARIABLE, HOME_VARIABLE}
    return "".join(f"{name.removeprefix(PREFIX)}\n" for name in sorted(names))
