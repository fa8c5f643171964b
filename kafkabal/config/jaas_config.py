"""Parses ``sasl.jaas.config``: the credentials in a client.properties, in the syntax of Java's login modules."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafkabal.config import value_parsers
from kafkabal.config.yaml_document import YamlNode

_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[\w.]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s;"]+))|(?P<word>[\w.$]+))"""
)
_EXAMPLE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_WORDS = 2  # the module, and the word "required"


def parse_jaas(node: YamlNode) -> Mapping[str, str]:
    """The options of the single login module in a ``sasl.jaas.config``.

    Raises
    ------
    InputFileError
        If it is not of the form ``module.Class required name="value";``; the text, which holds secrets, is not shown.
    """
    text = value_parsers.text(node)
    body = text.removesuffix(";").rstrip()
    words, options, at = 0, {}, 0
    while at < len(body):
        token = _TOKEN.match(body, at)
        if token is None or (token["word"] and words == _WORDS):
            break
        at = token.end()
        if token["word"]:
            words += 1
        else:
            quoted = token["quoted"]
            options[token["name"]] = token["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    if at < len(body) or words != _WORDS or not text.endswith(";"):
        raise node.error(
            "sasl.jaas.config is malformed",
            hint=f'write it like  {_EXAMPLE} required username="u" password="p";',
        )
    return options
