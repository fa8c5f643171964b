"""The path of the manifest of a topic and a source."""

from hashlib import sha256
from pathlib import Path

from kafkabal.errors import UsageError
from kafkabal.input_files import exists
from kafkabal.producer.send_manifest import lacks_recorded_options
from kafkabal.producer.topic_facts import TopicFacts
from kafkabal.sources import Source

_DIGEST_CHARACTERS = 16
"""64 bits: among a million sources, two share a file with a probability of 1 in 37 million."""


def default_manifest_path(facts: TopicFacts, source: Source, folder: Path) -> Path:
    """One manifest per topic, source and set of options that change the records.

    Raises
    ------
    UsageError
        If the only manifest found is of an older version that does not record its options.
    """
    options = [f"{name} {value}" for name, value in source.options.items()]
    own = folder / _file_name(facts, source.name, *options)
    older = folder / _file_name(facts, source.name)
    if options and not exists(own) and lacks_recorded_options(older):
        raise UsageError(
            f"{older}: manifest of an older version does not record its options (given {' '.join(options)})",
            hint="to continue it, name it with --manifest; to send everything, name a new file",
        )
    return own


def _file_name(facts: TopicFacts, *made_of: str) -> str:
    digest = sha256("\0".join(made_of).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{facts.topic}-{facts.topic_id}-{digest[:_DIGEST_CHARACTERS]}.jsonl"
