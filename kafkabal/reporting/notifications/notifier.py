"""Sends notifications in their receivers' formats: Alertmanager's API, Slack's, or a plain webhook.

A thread of its own posts them, one after the other; at most ten thousand wait. Whatever becomes of them changes nothing
of what they are about: a receiver that fails is warned of once, until it works again. Meanwhile a message is posted
again for some minutes, so that a receiver which restarts misses none; one that names a pause (``Retry-After``) gets it.

Alertmanager resolves an alert that it has not heard of for ``resolve_timeout``, 5 minutes by default. So what fires is
posted again every minute, as Prometheus does, until it is over; where a command ends before that, with a time at which
it is over by itself. All that waits is one post: a thousand brokers that vanish at once begin a thousand alerts, and if
the end of one was lost, it would fire forever.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Any

from kafkabal.errors import KafkabalError
from kafkabal.http_client import http_failure, open_http_client, parsed_url
from kafkabal.printable import printable

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 5.0
"""Receivers respond within a second; one that hangs must not block the queue for longer than this."""
_MOST_WAITING = 10_000
"""Some megabytes, while the receiver is away: each of a thousand brokers may change its state several times."""
_RETRY_AFTER_S = (1.0, 5.0, 30.0, 60.0, 120.0, 240.0)
"""Pauses before a message is posted again: eight minutes in all, then the next one has its turn."""
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_LONGEST_PAUSE_S = 3600.0
"""A receiver that asks for a longer one is tried again after this time: what waits would be too old."""
_REPEAT_S = 60.0
"""A fifth of Alertmanager's ``resolve_timeout``: some posts may fail."""
_CLOCKS_AGREE_S = 60.0
"""Alertmanager rejects what begins more than 5 minutes ahead of its own clock; a response may take some seconds."""
_CLOSING_S = 5.0
"""A finished command waits this long for its last message, once."""


class NotificationForm(StrEnum):
    """Formats that receivers understand."""

    ALERTMANAGER = "alertmanager"
    SLACK = "slack"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """An event on a cluster."""

    at: str
    """ISO 8601, UTC."""
    event: str
    message: str
    broker: int | None = None
    log_dir: str | None = None
    run_id: str | None = None
    begins: tuple[str, ...] = ()
    """Alerts that start firing."""
    ends: tuple[str, ...] = ()
    """Alerts that are resolved."""
    until: str | None = None
    """When the alerts that begin are over by themselves; None for those that are posted until they are resolved."""
    is_update: bool = False
    """Whether it only brings the text of an alert up to date: no news, so only Alertmanager gets it."""


def check_url(url: str) -> str:
    """Check that notifications can be posted to a URL.

    Raises
    ------
    ConfigError
        If it is not an http or https URL.
    """
    form_of(url)
    return url


def form_of(url: str) -> NotificationForm:
    """Detect the format from the URL: Alertmanager's ends in ``/api/v2/alerts``, Slack's host is ``hooks.slack.com``.

    Raises
    ------
    ConfigError
        If it is not an http or https URL.
    """
    parsed = parsed_url(url)
    if parsed.path.rstrip("/").endswith("/api/v2/alerts"):
        return NotificationForm.ALERTMANAGER
    return NotificationForm.SLACK if parsed.host == "hooks.slack.com" else NotificationForm.WEBHOOK


def body_of(notification: Notification, cluster: str, form: NotificationForm) -> Any:
    """The JSON body for a receiver; None if it does not take this event."""
    n = replace(notification, message=printable(notification.message))
    if form is NotificationForm.SLACK:
        # Slack takes what is between < and > for a link or a mention
        return {"text": escape(f"kafkabal {cluster}: {n.message}", quote=False)}
    if form is NotificationForm.WEBHOOK:
        fields = {"at": n.at, "event": n.event, "message": n.message, "broker": n.broker}
        return {"cluster": cluster, **fields, "log_dir": n.log_dir, "run_id": n.run_id}
    alerts = [(name, False) for name in n.begins] + [(name, True) for name in n.ends]
    return [_alert(n, cluster, name, is_over=is_over) for name, is_over in alerts] or None


def _alert(notification: Notification, cluster: str, name: str, *, is_over: bool) -> dict[str, Any]:
    labels = {"alertname": f"kafkabal-{name}", "cluster": cluster}
    if notification.broker is not None:
        labels["broker"] = str(notification.broker)
    if notification.log_dir is not None:
        labels["log_dir"] = notification.log_dir
    alert = {"labels": labels, "annotations": {"summary": notification.message}, "startsAt": notification.at}
    end = notification.at if is_over else notification.until
    return alert if end is None else alert | {"endsAt": end}


class Notifier:
    """Posts notifications of one cluster.

    Parameters
    ----------
    warn
        Called once when the receiver fails.
    repeat_s
        How often Alertmanager gets what still fires.
    retry_after_s
        Pauses before a message to another receiver is posted again.
    wall_clock
        Seconds since the epoch.

    Raises
    ------
    ConfigError
        If it is not an http or https URL.
    """

    def __init__(
        self,
        url: str,
        cluster: str,
        warn: Callable[[str], None],
        *,
        repeat_s: float = _REPEAT_S,
        retry_after_s: Sequence[float] = _RETRY_AFTER_S,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._url, self._cluster, self._warn, self._form = url, cluster, warn, form_of(url)
        self._repeat_s, self._retry_after_s, self._wall_clock = repeat_s, retry_after_s, wall_clock
        self._ahead_s = 0.0
        """By how much the clock of this host is ahead of the receiver's, if they do not agree."""
        self._is_closing = threading.Event()
        self._waiting: queue.Queue[Notification | None] = queue.Queue(_MOST_WAITING)
        self._is_failing = False
        self._thread = threading.Thread(target=self._post_all, name="kafkabal-notify", daemon=True)
        self._thread.start()

    def post(self, notification: Notification) -> None:
        """Queue a notification; drop it if too many are queued."""
        if notification.is_update and self._form is not NotificationForm.ALERTMANAGER:
            return
        try:
            self._waiting.put_nowait(notification)
        except queue.Full:
            self._fail("the receiver does not keep up")

    def close(self) -> None:
        """Post what is queued, each once, for a few seconds at most."""
        self._is_closing.set()
        try:
            self._waiting.put(None, timeout=_CLOSING_S)
        except queue.Full:
            return
        self._thread.join(_CLOSING_S)

    def _post_all(self) -> None:
        try:
            client = open_http_client(_TIMEOUT_S)
        except KafkabalError as error:
            self._fail(error.message)
            return
        with client:
            if self._form is NotificationForm.ALERTMANAGER:
                self._post_alerts(client)
            else:
                self._post_messages(client)

    def _post_messages(self, client: httpx.Client) -> None:
        """One for each notification."""
        while (notification := self._waiting.get()) is not None:
            body = body_of(notification, self._cluster, self._form)
            for pause_s in (*self._retry_after_s, None):
                asked_s = self._pause_after(client, body)
                if asked_s is None or pause_s is None or self._is_closing.wait(max(pause_s, asked_s)):
                    break

    def _post_alerts(self, client: httpx.Client) -> None:
        """What begins and ends, with all that fires; that alone once nothing has happened for a while."""
        firing: dict[str, Any] = {}
        news: Sequence[Notification | None] = ()
        while None not in news:
            news = self._news(self._repeat_s if firing else None)
            if news == [None]:
                return
            for notification in filter(None, news):
                for alert in body_of(notification, self._cluster, self._form) or ():
                    firing.pop(name := str(alert["labels"]), None)
                    firing[name] = alert
            if not firing:
                continue
            asked_s = self._pause_after(client, [self._by_their_clock(alert) for alert in firing.values()])
            if asked_s is None:
                firing = {name: alert for name, alert in firing.items() if "endsAt" not in alert}
            else:
                self._is_closing.wait(asked_s)

    def _news(self, timeout_s: float | None) -> list[Notification | None]:
        """All that waits, once anything does; empty after the timeout."""
        news: list[Notification | None] = []
        with suppress(queue.Empty):
            news.append(self._waiting.get(timeout=timeout_s))
            while True:
                news.append(self._waiting.get_nowait())
        return news

    def _pause_after(self, client: httpx.Client, body: Any) -> float | None:
        """Post once; returns the pause that the receiver asks for before the next attempt, None if none is needed."""
        import httpx

        try:
            response = client.post(self._url, json=body)
            self._compare_clocks(response)  # even one that refuses an alert as too far in the future
            response.raise_for_status()
        except httpx.HTTPStatusError as error:
            self._fail(http_failure(error))
            status = error.response.status_code
            return _asked_pause_s(error.response) if status >= _SERVER_ERROR or status == _TOO_MANY_REQUESTS else None
        except httpx.HTTPError as error:
            self._fail(http_failure(error))
            return 0.0
        self._is_failing = False
        return None

    def _compare_clocks(self, response: httpx.Response) -> None:
        with suppress(ValueError, TypeError):
            theirs = parsedate_to_datetime(response.headers.get("date", ""))
            ahead_s = self._wall_clock() - theirs.timestamp()
            self._ahead_s = ahead_s if abs(ahead_s) > _CLOCKS_AGREE_S else 0.0

    def _by_their_clock(self, alert: dict[str, Any]) -> dict[str, Any]:
        """An alert with its times by the receiver's clock; it began in the past, even if ours was set back since."""
        now, ahead = datetime.fromtimestamp(self._wall_clock(), UTC), timedelta(seconds=self._ahead_s)
        times = {key: datetime.fromisoformat(alert[key]) for key in ("startsAt", "endsAt") if key in alert}
        times["startsAt"] = min(times["startsAt"], now)
        return alert | {key: (at - ahead).isoformat() for key, at in times.items()}

    def _fail(self, reason: str) -> None:
        if not self._is_failing:
            self._is_failing = True
            self._warn(f"notifications to {_without_secrets(self._url)} fail: {reason}")


def _asked_pause_s(response: httpx.Response) -> float:
    """The time in ``Retry-After``, in seconds; 0 if the receiver does not say."""
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return min(float(text), _LONGEST_PAUSE_S)
    with suppress(ValueError, TypeError, OverflowError):  # a date, by the receiver's clock
        until, now = (parsedate_to_datetime(each) for each in (text, response.headers.get("date", "")))
        return min(max((until - now).total_seconds(), 0.0), _LONGEST_PAUSE_S)
    return 0.0


def _without_secrets(url: str) -> str:
    """Scheme, host and port: the path of a webhook is often its only credential."""
    from httpx import URL

    parsed = URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"
