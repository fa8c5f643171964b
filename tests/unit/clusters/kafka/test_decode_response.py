"""Responses that several threads decode for the first time simultaneously."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import kafka.protocol.admin as admin
import kafka.protocol.metadata as metadata
import pytest
from kafka.protocol.api_header import RequestHeader, ResponseClassRegistry

from kafkabal.clusters.kafka import decode_response as module

_THREADS = 8
_RESPONSES = [
    kind
    for part in (admin, metadata)
    for name in part.__all__
    if name.endswith("Response") and hasattr(kind := getattr(part, name), "API_KEY")
]


def _request_and_frame(kind: Any, version: int) -> tuple[Any, memoryview]:
    response = kind(version=version)
    response.with_header(correlation_id=1)
    header = SimpleNamespace(request_api_key=kind.API_KEY, request_api_version=version)
    header.get_response_class = lambda: RequestHeader.get_response_class(header)
    return SimpleNamespace(header=header), memoryview(bytes(response.encode(header=True)))


def test_threads_that_decode_the_same_first_response_leave_a_class_that_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python would create two classes, and the one behind its weak reference would soon be collected."""
    cases = [(kind, version) for kind in _RESPONSES for version in range(kind.max_version + 1)]
    assert len(cases) > 50
    frames = {case: _request_and_frame(*case) for case in cases}
    for kind in _RESPONSES:
        monkeypatch.setattr(kind, "_VERSIONS", {})
        monkeypatch.setattr(kind._struct, "_compiled_encoders", {})
    monkeypatch.setattr(module, "_DECODED", set())
    # the classes of this test go with it, and others must not find them
    found = dict(ResponseClassRegistry._response_class_registry)
    monkeypatch.setattr(ResponseClassRegistry, "_response_class_registry", found)
    together = Barrier(_THREADS)

    def decode_all(_: int) -> None:
        for case in cases:
            together.wait(timeout=30.0)
            try:
                module.decode_response(*frames[case])
            except BaseException:
                together.abort()
                raise

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(decode_all, range(_THREADS)))
    finally:
        sys.setswitchinterval(usual)
    gc.collect()
    for kind, version in cases:
        assert module.decode_response(*frames[kind, version]).name == kind.name
