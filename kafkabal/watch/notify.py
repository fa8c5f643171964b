"""Events sent to where people look: Alertmanager's API, Slack's form, or a plain webhook.

A thread of its own posts them, one after the other; at most a hundred wait. Whatever becomes of them changes nothing
of the watch: a receiver that fails is warned of once, until it works again.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from kafkabal.errors import UsageError
from kafkabal.watch.watch_events import ENDS, EventKind, WatchEvent

_TIMEOUT_S = 5.0
_MOST_WAITING = 100
_CLOSING_S = 5.0


class NotificationForm(StrEnum):
    """What a receiver understands."""

    ALERTMANAGER = "alertmanager"
    SLACK = "slack"
    WEBHOOK = "webhook"


def form_of(url: str) -> NotificationForm:
    """By the address: Alertmanager's ends in ``/api/v2/alerts``, Slack's host is ``hooks.slack.com``.

    Raises
    ------
    UsageError
        If it is not an address of http or https.
    """
    from httpx import URL, InvalidURL

    try:
        parsed = URL(url)
    except InvalidURL as error:
        raise UsageError(f"--notify: invalid URL: {url} ({error})") from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise UsageError(f"--notify: invalid URL: {url}", hint="write it like https://host/path")
    if parsed.path.rstrip("/").endswith("/api/v2/alerts"):
        return NotificationForm.ALERTMANAGER
    return NotificationForm.SLACK if parsed.host == "hooks.slack.com" else NotificationForm.WEBHOOK


def body_of(event: WatchEvent, cluster: str, form: NotificationForm) -> Any:
    """The JSON that tells a receiver of an event; None where it has no word for it."""
    if form is NotificationForm.SLACK:
        return {"text": f"kafkabal {cluster}: {event.message}"}
    if form is NotificationForm.WEBHOOK:
        fields = {"at": event.at, "event": event.event, "message": event.message, "broker": event.broker}
        return {"cluster": cluster, **fields, "log_dir": event.log_dir, "run_id": event.run_id}
    ended = ENDS.get(event.event)
    kinds = ended or (event.event,)
    alerts = [_alert(event, cluster, kind, is_over=ended is not None) for kind in kinds]
    return alerts if event.event not in {EventKind.HEALING, EventKind.HELD_BACK} else None


def _alert(event: WatchEvent, cluster: str, kind: EventKind, *, is_over: bool) -> dict[str, Any]:
    labels = {"alertname": f"kafkabal-{kind}", "cluster": cluster}
    if event.broker is not None:
        labels["broker"] = str(event.broker)
    if event.log_dir is not None:
        labels["log_dir"] = event.log_dir
    alert = {"labels": labels, "annotations": {"summary": event.message}, "startsAt": event.at}
    return alert | ({"endsAt": event.at} if is_over else {})


class Notifier:
    """A listener that posts every event.

    Parameters
    ----------
    warn
        Called once when the receiver fails.
    """

    def __init__(self, url: str, cluster: str, warn: Callable[[str], None]) -> None:
        self._url, self._cluster, self._warn, self._form = url, cluster, warn, form_of(url)
        self._waiting: queue.Queue[WatchEvent | None] = queue.Queue(_MOST_WAITING)
        self._is_failing = False
        self._thread = threading.Thread(target=self._post_all, name="kafkabal-notify", daemon=True)
        self._thread.start()

    def on_event(self, event: WatchEvent) -> None:
        """Let it be posted; where a hundred wait, the event is dropped."""
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._fail("the receiver does not keep up")

    def close(self) -> None:
        """Post what waits, for a few seconds at most."""
        try:
            self._waiting.put(None, timeout=_CLOSING_S)
        except queue.Full:
            return
        self._thread.join(_CLOSING_S)

    def _post_all(self) -> None:
        import httpx

        with httpx.Client(timeout=_TIMEOUT_S) as client:
            while (event := self._waiting.get()) is not None:
                body = body_of(event, self._cluster, self._form)
                if body is None:
                    continue
                try:
                    client.post(self._url, json=body).raise_for_status()
                except httpx.HTTPError as error:
                    self._fail(str(error))
                else:
                    self._is_failing = False

    def _fail(self, reason: str) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._warn(f"notifications to {self._url} fail: {reason}")
