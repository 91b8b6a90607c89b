"""A client of the Windhover API:

    with Windhover("http://localhost:8080", api_key="wh_…") as windhover:
        started = windhover.start_process(source_uuid=source_uuid)

`AsyncWindhover` has the same methods for `await`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from types import TracebackType

from .events import follow_events, follow_events_async
from .live import read_messages, read_messages_async, send_messages, send_messages_async
from .operations import API_VERSION, AccountEvent, AsyncOperations, Operations
from .transport import Answer, ApiError, ApiKey, AsyncTransport, Fault, Form, LIMIT_SECONDS, Transport
from .webhooks import is_from_windhover

__all__ = [
    "API_VERSION",
    "AccountEvent",
    "Answer",
    "ApiError",
    "AsyncWindhover",
    "Fault",
    "Form",
    "Windhover",
    "is_from_windhover",
    "read_messages",
    "read_messages_async",
    "send_messages",
    "send_messages_async",
]


class Windhover(Operations):
    def __init__(self, url: str, api_key: ApiKey = None, *, timeout: float = LIMIT_SECONDS) -> None:
        self._transport = Transport(url, api_key, timeout)
        super().__init__(self._transport.send)

    def follow_events(
        self,
        *,
        after: int | None = None,
        type: str | None = None,
        process: str | None = None,
        source: str | None = None,
    ) -> Iterator[AccountEvent]:
        """Events of the account, from now on or after the one with the id `after` (`0`: all that are stored).

        It reconnects by itself and then continues after the last event. Raises `ApiError` if the service rejects the
        request.
        """
        return follow_events(
            self._transport.send, {"after": after, "type": type, "process": process, "source": source}
        )

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Windhover:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWindhover(AsyncOperations):
    def __init__(self, url: str, api_key: ApiKey = None, *, timeout: float = LIMIT_SECONDS) -> None:
        self._transport = AsyncTransport(url, api_key, timeout)
        super().__init__(self._transport.send)

    def follow_events(
        self,
        *,
        after: int | None = None,
        type: str | None = None,
        process: str | None = None,
        source: str | None = None,
    ) -> AsyncGenerator[AccountEvent, None]:
        """As `Windhover.follow_events`, for `async for`."""
        return follow_events_async(
            self._transport.send, {"after": after, "type": type, "process": process, "source": source}
        )

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncWindhover:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
