"""Messages of running processes, as they are sent, and telemetry to them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import websockets
from websockets.exceptions import InvalidHandshake

from .transport import ApiError, _read

#: Of one message; those with many tracks are long.
_MAX_BYTES = 64 * 2**20
_REASON_SECONDS = 10.0


@asynccontextmanager
async def _open(url: str) -> AsyncGenerator[Any, None]:
    """Raises `ApiError` if the service rejects the connection or cannot be reached."""
    try:
        socket = await websockets.connect(url, max_size=_MAX_BYTES)  # type: ignore[attr-defined]
    except InvalidHandshake as error:
        raise await _read_rejection(url, error) from error
    except (OSError, asyncio.TimeoutError) as error:
        raise ApiError(0, {"code": "no_answer", "detail": "the service cannot be reached"}) from error
    try:
        yield socket
    finally:
        await socket.close()


async def _read_rejection(url: str, error: InvalidHandshake) -> ApiError:
    """The handshake is repeated: not every version of `websockets` reads the body of the response."""
    response = getattr(error, "response", error)
    status = getattr(response, "status_code", 0)
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
    }
    if status != 0:
        try:
            async with httpx.AsyncClient(timeout=_REASON_SECONDS) as client:
                async with client.stream("GET", re.sub("^ws", "http", url), headers=headers) as answer:
                    if answer.status_code == status:
                        await answer.aread()
                        _read(answer)
        except ApiError as reason:
            return reason
        except (httpx.HTTPError, httpx.InvalidURL):
            pass
    return ApiError(status, {"code": "unknown" if status else "no_answer", "detail": str(error)})


async def read_messages_async(url: str) -> AsyncGenerator[dict[str, Any], None]:
    """Messages of `detection_data_url` or `drone_data_url` of a process, until it ends.

    A message that arrives while the last one is being handled waits; the service drops messages for clients that
    read too slowly. Raises `ApiError` if the service rejects the connection or cannot be reached.
    """
    async with _open(url) as socket:
        async for message in socket:
            yield json.loads(message)


def read_messages(url: str) -> Iterator[dict[str, Any]]:
    """The same, without `async`. Not for use in a running event loop."""
    with asyncio.Runner() as runner:
        messages = read_messages_async(url)

        async def read_next() -> dict[str, Any] | None:
            return await anext(messages, None)

        async def close() -> None:
            await messages.aclose()

        try:
            while (message := runner.run(read_next())) is not None:
                yield message
        finally:
            runner.run(close())


async def send_messages_async(
    url: str, messages: AsyncIterable[Mapping[str, Any]] | Iterable[Mapping[str, Any]]
) -> None:
    """Sends telemetry to `telemetry_url` of a process, one message after the other: `messages` decides when.

    Raises `ApiError` if the service rejects the connection or a message, and the errors of `websockets` if the
    connection ends before the last one.
    """
    async with _open(url) as socket:

        async def send() -> None:
            if isinstance(messages, AsyncIterable):
                async for message in messages:
                    await socket.send(json.dumps(message))
            else:
                for message in messages:
                    await socket.send(json.dumps(message))

        async def receive() -> None:
            # The service answers only what it rejects.
            raise ApiError(422, json.loads(await socket.recv()).get("error", {}))

        sending, receiving = asyncio.create_task(send()), asyncio.create_task(receive())
        try:
            done, _ = await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
            for task in (sending, receiving):
                if task in done:
                    return task.result()
        finally:
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)


def send_messages(url: str, messages: Iterable[Mapping[str, Any]]) -> None:
    """The same, without `async`. Not for use in a running event loop."""
    asyncio.run(send_messages_async(url, messages))
