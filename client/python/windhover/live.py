"""Messages of running processes, as they are sent, and telemetry to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Mapping
from typing import Any

import websockets

from .transport import ApiError

#: Of one message; those with many tracks are long.
_MAX_BYTES = 64 * 2**20


async def read_messages_async(url: str) -> AsyncGenerator[dict[str, Any], None]:
    """Messages of `detection_data_url` or `drone_data_url` of a process, until it ends.

    A message that arrives while the last one is being handled waits; the service drops messages for clients that
    read too slowly.
    """
    async with websockets.connect(url, max_size=_MAX_BYTES) as socket:  # type: ignore[attr-defined]
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

    Raises `ApiError` if the service rejects a message, and the errors of `websockets` if the connection cannot be
    opened or ends before the last one.
    """
    async with websockets.connect(url, max_size=_MAX_BYTES) as socket:  # type: ignore[attr-defined]

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
