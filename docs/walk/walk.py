#!/usr/bin/env python3
"""The walk of a drone-operations company through the API, with the Python client.

docs/walk.md explains each step; walk.ts does the same in TypeScript.

    WINDHOVER_KEY=wh_… WINDHOVER_OTHER_KEY=wh_… python3 docs/walk/walk.py --clip flight.mp4
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from windhover import AccountEvent, Answer, ApiError, AsyncWindhover, read_messages_async, send_messages_async

Events = AsyncGenerator[AccountEvent, None]


class WalkError(Exception):
    """Something that the walk expects did not happen."""


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="The walk of a drone-operations company through the API.",
        epilog="WINDHOVER_KEY is the first key of your account (with --track-logger), WINDHOVER_OTHER_KEY a key of "
        "another account.",
    )
    parser.add_argument("--url", default="http://localhost:8080", help="the service; default %(default)s")
    parser.add_argument("--rtsp", default="rtsp://localhost:8554", help="its media server; default %(default)s")
    parser.add_argument("--name", default="walk", help="path of the stream; default %(default)s")
    parser.add_argument("--clip", type=Path, help="simulate the drone: ffmpeg publishes this clip; default: yours")
    parser.add_argument("--out", type=Path, default=Path("walk-results"), help="for evidence and report")
    parser.add_argument("--wait-seconds", type=float, default=600, help="time limit of each wait; default %(default)s")
    options = parser.parse_args()
    options.key, options.other_key = (os.environ.get(name) for name in ("WINDHOVER_KEY", "WINDHOVER_OTHER_KEY"))
    if not options.key or not options.other_key or options.wait_seconds <= 0:
        parser.error("set WINDHOVER_KEY and WINDHOVER_OTHER_KEY, and --wait-seconds to a number above 0")
    return options


def say(step: str, text: str) -> None:
    print(f"{step}: {text}", flush=True)


async def code_of(call: Awaitable[Any]) -> str:
    """The code of the error that the call is rejected with."""
    try:
        await call
    except ApiError as error:
        return error.code
    raise WalkError("the service accepted what it should reject")


async def hover() -> AsyncGenerator[dict[str, float], None]:
    """Five messages per second of a drone that hovers. A real one sends what it measures."""
    while True:
        yield {
            **{"timestamp": time.time(), "latitude": 47.3769, "longitude": 8.5417, "altitude": 448, "rel_altitude": 40},
            **{"camera_pitch": -35, "camera_yaw": 90, "camera_roll": 0, "sensor_hfov": 60, "sensor_vfov": 44, "speed": 0},
        }
        await asyncio.sleep(0.2)


async def simulate_drone(clip: Path, url: str) -> Callable[[], None]:
    """What the drone does: it publishes the clip, again and again, until it is landed."""
    source = ["-hide_banner", "-loglevel", "error", "-re", "-stream_loop", "-1", "-i", str(clip), "-an"]
    encoder = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "10", "-pix_fmt", "yuv420p"]
    drone = await asyncio.create_subprocess_exec(
        "ffmpeg", *source, *encoder, "-f", "rtsp", "-rtsp_transport", "tcp", url, stdin=asyncio.subprocess.DEVNULL
    )

    def land() -> None:
        if drone.returncode is None:
            drone.terminate()

    return land


async def walk(options: argparse.Namespace, end: AsyncExitStack) -> None:
    async def connect(key: str) -> AsyncWindhover:
        return await end.enter_async_context(AsyncWindhover(options.url, key))

    async def until(events: Events, *types: str) -> AccountEvent:
        """Reads on until each of these types has come, in any order, and returns the last event."""
        missing = set(types)
        try:
            async with asyncio.timeout(options.wait_seconds):
                while True:
                    event = await anext(events)
                    say("event", event["type"])
                    if event["type"] in ("process-failed", "stream-rejected"):
                        raise WalkError(f"{event['type']}: {event['data']}")
                    missing.discard(event["type"])
                    if not missing:
                        return event
        except TimeoutError:
            raise WalkError(f"no {', '.join(sorted(missing))} within {options.wait_seconds} s") from None

    # 1. Two tenants, each with a key of its own.
    company, other = await connect(options.key), await connect(options.other_key)
    username, other_name = (login["username"] for login in await asyncio.gather(company.login(), other.login()))
    if username == other_name:
        raise WalkError("both keys belong to the same account")
    say("tenants", f"{username} and {other_name}")

    # 2. The stream of the drone, at the media server of the service.
    input_url = f"{options.rtsp}/{username}/{options.name}"
    source = await company.register_stream(
        body={
            "alias": options.name,
            "input_url": input_url,
            "stream_type": "rtsp",
            "telemetry_cfg": {"type": "websocket"},
        }
    )
    source_uuid = source["uuid"]
    say("stream", f"registered {username}/{options.name}")

    # 3. Keys with the rights that their holders need. That of the desk is replaced while both are valid, that of the
    # drone at once.
    first = await company.create_key(body={"name": "desk", "scopes": ["operate"]})
    desk_key = await company.rotate_key(first["uuid"], body={"overlap_seconds": 3600})
    desk = await connect(desk_key["key"])
    await asyncio.gather((await connect(first["key"])).login(), desk.login())
    say("keys", "the desk has a new key, and its old one is valid for an hour")
    lost = await company.create_key(body={"name": "drone", "scopes": ["publish"], "source_uuids": [source_uuid]})
    drone_key = await company.rotate_key(lost["uuid"], body={"overlap_seconds": 0})
    for key in (first, desk_key, drone_key):
        end.push_async_callback(company.revoke_key, key["uuid"])
    code = await code_of((await connect(lost["key"])).login())
    say("keys", f"the drone has a new key, and its old one is rejected: {code}")
    code = await code_of((await connect(drone_key["key"])).list_sources())
    say("keys", f"the key of the drone reads nothing: {code}")

    # 4. An alert with evidence. It needs no destination: notices are kept.
    alert = await desk.register_alert(
        body={
            "alias": "People below the drone",
            "type": "grid-density",
            "filter": {"class_names": ["person"]},
            "trigger": {"count": 1, "for_seconds": 0.5, "cooldown_seconds": 600},
            "parameters": {"rows": 1, "columns": 1},
            "evidence": {"clip": {"before_seconds": 1, "after_seconds": 1}, "snapshot": True},
        }
    )
    end.push_async_callback(desk.delete_alert, alert["uuid"])
    say("alert", alert["alias"])

    # 5. The process waits for the drone. Events are followed from here on.
    newest = (await desk.list_events(limit=1))["events"]
    events = desk.follow_events(after=newest[0]["id"] if newest else 0, source=source_uuid)
    end.push_async_callback(events.aclose)
    started = await desk.start_process(source_uuid=source_uuid, body={"wait": True, "keep": True})
    process_uuid = started["process_uuid"]

    async def stop() -> None:
        try:
            await desk.stop_process(process_uuid)
        except ApiError:
            pass  # It has ended.

    end.push_async_callback(stop)
    await until(events, "process-waiting")

    # 6. The drone takes off.
    publish_url = input_url.replace("://", f"://key:{drone_key['key']}@")
    if options.clip is None:
        print(f"publish the drone's video to {publish_url}", flush=True)
    land = (lambda: None) if options.clip is None else await simulate_drone(options.clip, publish_url)
    end.callback(land)
    await until(events, "stream-began", "process-started")

    # 7. It sends telemetry with its own key, and detected objects get positions.
    address = urlsplit(started["telemetry_url"])._replace(query=urlencode({"api_key": drone_key["key"]})).geturl()
    urls = await desk.get_process_urls(process_uuid)

    async def find_object() -> dict[str, Any]:
        async for message in read_messages_async(urls["detection_data_url"]):
            for track in message["active_tracks"]:
                if track["class_name"] == "person" and "latitude" in track:
                    return dict(track)
        raise WalkError("the detections ended before a person had a position")

    sending = start(send_messages_async(address, hover()))
    finding = start(find_object())
    for task in (sending, finding):
        end.callback(task.cancel)
    done, _ = await asyncio.wait((sending, finding), timeout=options.wait_seconds, return_when=asyncio.FIRST_COMPLETED)
    if sending in done:
        sending.result()
    if finding not in done:
        raise WalkError(f"no person had a position within {options.wait_seconds} s")
    found = finding.result()
    say("telemetry", f"a {found['class_name']} is at {found['latitude']:.3f}, {found['longitude']:.3f}")

    # 8. The alert, with its evidence.
    notice_uuid = (await until(events, "evidence-ready"))["data"]["notice_uuid"]
    notice = await desk.read_notice(notice_uuid)
    options.out.mkdir(parents=True, exist_ok=True)

    async def save(name: str, answer: Answer) -> None:
        (options.out / name).write_bytes(await answer.aread())
        await answer.aclose()

    await save("evidence.mp4", await desk.download_evidence_clip(notice_uuid))
    await save("evidence.jpg", await desk.download_evidence_snapshot(notice_uuid))
    await desk.review_notice(notice_uuid, body={"reviewed": True, "comment": "seen by the walk"})
    state = notice["evidence"]["state"]
    say("evidence", f"{notice['alias']}: evidence is {state}, clip and snapshot are in {options.out}")

    # 9. The drone lands: the process waits again, and the recording is complete.
    sending.cancel()
    land()
    if options.clip is None:
        print("stop publishing", flush=True)
    await until(events, "stream-ended", "process-waiting", "recording-closed")
    await desk.stop_process(process_uuid)
    await until(events, "process-finished")

    # 10. The report of the flight.
    report = await desk.read_tracks(process_uuid, format="json", patches=False)
    tracks: list[Any] = report["tracks"] if "tracks" in report else []
    located = [track for track in tracks if track["last_location"] is not None]
    (options.out / "report.json").write_text(json.dumps(report))
    say("report", f"{len(tracks)} tracks, {len(located)} with a position")

    # 11. The other tenant has seen nothing of it.
    sources, log = await other.list_sources(), await other.list_events()
    is_seen = any(one["uuid"] == source_uuid for one in sources["sources"])
    if is_seen or any(event["process_uuid"] == process_uuid for event in log["events"]):
        raise WalkError(f"{other_name} sees what belongs to {username}")
    codes = [await code_of(other.read_process(process_uuid)), await code_of(other.read_notice(notice_uuid))]
    say("tenants", f"{other_name} sees nothing of it: {', '.join(codes)}")


def start(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(work)


async def main() -> int:
    options = read_options()
    try:
        async with AsyncExitStack() as end:
            await walk(options, end)
    except ApiError as error:
        print(f"failed: {error.status} {error.code}: {error}", file=sys.stderr)
        for fault in error.errors:
            print(f"  {fault['path']} {fault['message']}", file=sys.stderr)
        return 1
    except (WalkError, OSError) as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    finally:
        say("end", "alert deleted, keys revoked")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
