"""Sends operations as requests and turns responses into values or `ApiError`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, cast
from urllib.parse import quote

import httpx

#: Fields of a form: texts, and files by path or as open files with a name.
Form = Mapping[str, "str | Path | BinaryIO"]
#: A response that is neither JSON nor text, whose body has not been read: a download, a page, a stream. Close it.
Answer = httpx.Response

LIMIT_SECONDS = 30.0


@dataclass(frozen=True)
class Route:
    """One operation of the API, from the generated part of the client."""

    method: str
    #: `/process/{process_uuid}`
    path: str
    query: tuple[str, ...] = ()
    body_type: str | None = None
    accept: str | None = None


class Fault(TypedDict):
    #: A JSON pointer into the body, or the name of a parameter.
    path: str
    message: str


class ApiError(Exception):
    """An error that the service answered, or no answer."""

    #: 0: no response.
    status: int
    #: A stable code such as `source_not_live`; `no_answer` without a response, `bad_answer` for invalid JSON.
    code: str
    #: One entry for every fault of the input.
    errors: list[Fault]
    #: Identifies the request in the log of the service.
    request_id: str | None
    retry_after_seconds: int | None

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after: str | None = None) -> None:
        text = problem.get("detail") or problem.get("title") or f"the service answered {status}"
        super().__init__(text)
        self.status = status
        self.code = _text(problem, "code") or "unknown"
        found = problem.get("errors")
        self.errors = [cast(Fault, one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        self.request_id = _text(problem, "request_id")
        self.retry_after_seconds = int(retry_after) if retry_after is not None and retry_after.isdecimal() else None


def _text(problem: Mapping[str, Any], name: str) -> str | None:
    value = problem.get(name)
    return value if isinstance(value, str) else None


#: The key, or a function that is called for every request.
ApiKey = str | Callable[[], str | None] | None


class _Requests:
    """What both transports have in common: no input and output."""

    def __init__(self, url: str, api_key: ApiKey) -> None:
        self._url = url.rstrip("/")
        self._api_key = api_key

    def _request(self, route: Route, values: Mapping[str, Any], opened: ExitStack) -> dict[str, Any]:
        path = route.path
        for name in _names_in(path):
            path = path.replace("{" + name + "}", _segment(name, values.get(name)))
        query = [(name, _query_value(one)) for name in route.query for one in _as_list(values.get(name))]
        request: dict[str, Any] = {"method": route.method, "url": self._url + path, "params": query or None}
        headers: dict[str, str] = {} if route.accept is None else {"Accept": route.accept}
        key = self._api_key() if callable(self._api_key) else self._api_key
        if key is not None:
            if not (key.isascii() and key.isprintable()):
                raise ApiError(0, {"code": "invalid_input", "detail": "the API key contains invalid characters"})
            headers["api_key"] = key
        body = values.get("body")
        if route.body_type is not None and body is not None:
            if route.body_type == "multipart/form-data":
                # Fields of a form arrive in order: texts first, as the service expects them before the file.
                request["data"] = {name: value for name, value in body.items() if isinstance(value, str)}
                request["files"] = {
                    name: opened.enter_context(value.open("rb")) if isinstance(value, Path) else value
                    for name, value in body.items()
                    if not isinstance(value, str)
                }
            else:
                headers["Content-Type"] = route.body_type
                request["content"] = json.dumps(body) if route.body_type == "application/json" else body
        return {**request, "headers": headers}


def _names_in(path: str) -> list[str]:
    return [part.split("}")[0] for part in path.split("{")[1:]]


def _segment(name: str, value: object) -> str:
    """Rejects values that would change the path: `..` survives every encoding."""
    text = "" if value is None else str(value)
    if text in ("", ".", ".."):
        raise ApiError(0, {"code": "invalid_input", "detail": f'{name} is "{text}"; expected a name or a uuid'})
    return quote(text, safe="")


def _as_list(value: object) -> list[object]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _query_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_stream(response: httpx.Response) -> bool:
    """A body that the caller reads."""
    kind = response.headers.get("content-type", "").split(";")[0]
    is_text = kind.startswith("text/plain") or kind == "application/yaml"
    return response.is_success and not is_text and not kind.endswith("json")


def _read(response: httpx.Response) -> Any:
    kind = response.headers.get("content-type", "").split(";")[0]
    if not response.is_success:
        try:
            problem = response.json()
        except ValueError:
            problem = None
        raise ApiError(
            response.status_code,
            problem if isinstance(problem, dict) else {},
            response.headers.get("retry-after"),
        )
    if not kind.endswith("json"):
        return response.text
    try:
        return response.json()
    except ValueError as error:
        detail = f"the service answered {response.status_code} with invalid JSON"
        raise ApiError(response.status_code, {"code": "bad_answer", "detail": detail}) from error


def _no_answer(error: httpx.HTTPError) -> ApiError:
    is_late = isinstance(error, httpx.TimeoutException)
    detail = "no response within the time limit" if is_late else "the service cannot be reached"
    return ApiError(0, {"code": "no_answer", "detail": detail})


class Transport(_Requests):
    def __init__(self, url: str, api_key: ApiKey = None, timeout: float = LIMIT_SECONDS) -> None:
        super().__init__(url, api_key)
        self._client = httpx.Client(timeout=timeout)

    def send(self, route: Route, values: Mapping[str, Any], timeout: float | None = None) -> Any:
        limit: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        with ExitStack() as opened:
            request = self._request(route, values, opened)
            try:
                response = self._client.send(self._client.build_request(**request, **limit), stream=True)
                if _is_stream(response):
                    return response
                try:
                    response.read()
                finally:
                    response.close()
            except httpx.HTTPError as error:
                raise _no_answer(error) from error
            return _read(response)

    def close(self) -> None:
        self._client.close()


class AsyncTransport(_Requests):
    def __init__(self, url: str, api_key: ApiKey = None, timeout: float = LIMIT_SECONDS) -> None:
        super().__init__(url, api_key)
        self._client = httpx.AsyncClient(timeout=timeout)

    async def send(self, route: Route, values: Mapping[str, Any], timeout: float | None = None) -> Any:
        limit: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        with ExitStack() as opened:
            request = self._request(route, values, opened)
            try:
                response = await self._client.send(self._client.build_request(**request, **limit), stream=True)
                if _is_stream(response):
                    return response
                try:
                    await response.aread()
                finally:
                    await response.aclose()
            except httpx.HTTPError as error:
                raise _no_answer(error) from error
            return _read(response)

    async def aclose(self) -> None:
        await self._client.aclose()
