"""The events of an account as they happen: server-sent events, continued after the last one when the connection ends."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any, cast

import httpx

from .operations import AccountEvent
from .transport import ApiError, Route

_ROUTE = Route("GET", "/events", query=("type", "process", "source", "after"), accept="text/event-stream")
#: The service sends a comment every 20 s.
_SILENCE_SECONDS = 60.0
_FIRST_SECONDS = 0.5
_MAX_SECONDS = 10.0


class _Lines:
    """From lines to events. Comments, and the event `gap`, have no id."""

    def __init__(self) -> None:
        self._data: str | None = None
        self._has_id = False

    def read(self, line: str) -> AccountEvent | None:
        line = line.rstrip("\r\n")
        if line.startswith("id: "):
            self._has_id = True
        elif line.startswith("data: "):
            self._data = line[len("data: ") :]
        elif line == "":
            data, is_event = self._data, self._has_id
            self._data, self._has_id = None, False
            if data is not None and is_event:
                return cast(AccountEvent, json.loads(data))
        return None


def _raise_if_final(error: ApiError) -> None:
    """A request that the service rejects would be rejected again; a service that cannot be reached may be back soon."""
    if 0 < error.status < 500 or (error.status == 0 and error.code != "no_answer"):
        raise error


def _pause_seconds(failures: int) -> float:
    return float(min(_FIRST_SECONDS * 2 ** min(failures, 10), _MAX_SECONDS) * (0.5 + random.random() / 2))


def follow_events(
    send: Callable[[Route, dict[str, Any], float | None], Any], values: dict[str, Any]
) -> Iterator[AccountEvent]:
    failures = 0
    while True:
        try:
            response = send(_ROUTE, values, _SILENCE_SECONDS)
        except ApiError as error:
            _raise_if_final(error)
        else:
            lines = _Lines()
            try:
                for line in response.iter_lines():
                    if (event := lines.read(line)) is not None:
                        failures = 0
                        values = {**values, "after": event["id"]}
                        yield event
            except httpx.HTTPError:
                pass
            finally:
                response.close()
        time.sleep(_pause_seconds(failures))
        failures += 1


async def follow_events_async(
    send: Callable[[Route, dict[str, Any], float | None], Awaitable[Any]], values: dict[str, Any]
) -> AsyncGenerator[AccountEvent, None]:
    failures = 0
    while True:
        try:
            response = await send(_ROUTE, values, _SILENCE_SECONDS)
        except ApiError as error:
            _raise_if_final(error)
        else:
            lines = _Lines()
            try:
                async for line in response.aiter_lines():
                    if (event := lines.read(line)) is not None:
                        failures = 0
                        values = {**values, "after": event["id"]}
                        yield event
            except httpx.HTTPError:
                pass
            finally:
                await response.aclose()
        await asyncio.sleep(_pause_seconds(failures))
        failures += 1
