"""Checks that the topic a run started with still exists, and was not deleted and created again."""

from __future__ import annotations

from collections.abc import Callable

from kafkabal.errors import KafkabalError, OperationError


class TopicGoneError(OperationError):
    """The topic that the run started with no longer exists."""


def same_topic_check(
    topic_id: str,
    current_id: Callable[[], str | None],
    topic: str,
    check_failed: Callable[[KafkabalError], None] = lambda _: None,
) -> Callable[[], None]:
    """A check that the topic was neither deleted nor re-created.

    Parameters
    ----------
    current_id
        Returns the current id of the topic, None if it does not exist.
    check_failed
        Called with what ``current_id`` raised. That says nothing about the topic: delivery reports will.
    """

    def check() -> None:
        try:
            found = current_id()
        except KafkabalError as error:
            check_failed(error)
            return
        if found is None:
            raise TopicGoneError(
                f"topic {topic} was deleted during the run",
                hint="what was sent before is gone; once the topic exists again, the same command sends everything",
            )
        if found != topic_id:
            raise TopicGoneError(
                f"topic {topic} was deleted and re-created during the run; records sent before are lost",
                hint="run the same command again to send everything to the new topic",
            )

    return check
