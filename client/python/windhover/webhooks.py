"""Webhook requests are signed as Standard Webhooks defines: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

TOLERANCE_SECONDS = 300


def is_from_windhover(
    headers: Mapping[str, str], body: bytes | str, secret: str, *, now: float | None = None
) -> bool:
    """Whether a request was sent by the holder of the secret, a short while ago.

    `body` is the raw body, before parsing. `secret` begins with `whsec_`. Header names may have any case.
    """
    found = {name.lower(): value for name, value in headers.items()}
    sent_id, sent, signatures = (found.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if sent_id is None or sent is None or signatures is None or not sent.isdecimal():
        return False
    if abs((time.time() if now is None else now) - int(sent)) > TOLERANCE_SECONDS:
        return False
    raw = body.encode() if isinstance(body, str) else body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = hmac.new(key, f"{sent_id}.{sent}.".encode() + raw, hashlib.sha256).digest()
    return any(_matches(entry, expected) for entry in signatures.split(" "))


def _matches(entry: str, expected: bytes) -> bool:
    if not entry.startswith("v1,"):
        return False
    try:
        return hmac.compare_digest(base64.b64decode(entry[3:], validate=True), expected)
    except binascii.Error:
        return False
