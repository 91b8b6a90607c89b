"""Messages of running processes, as they are sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import websockets

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
