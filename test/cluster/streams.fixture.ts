/** Publishers and players of the nodes of a cluster. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { TestViewer } from "../../hub/webrtc/test-viewer.fixture.ts";
import type { RecordingMode } from "../../schemas/api/recording-setting.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { spawnPublisher } from "../../server/media/publisher.fixture.ts";
import type { TestService } from "../api/service.fixture.ts";

export const addressesOf = async (service: TestService) =>
  (await service.serving.event("ready")) as { readonly rtsp: string; readonly rtmp: string };

/** A recording is one more reader of the stream. */
export const registerStream = (service: TestService, alias: string, url: string, recording: RecordingMode = "off") =>
  service.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias, input_url: url, stream_type: url.slice(0, 4), recording },
  });

/** Of the media server of this node. */
export async function readersOf(service: TestService): Promise<number> {
  const { text } = await service.send("GET", "/metrics", {});
  return Number(/^windhover_media_readers (\d+)/m.exec(text)?.[1]);
}

export function publish(url: string): ChildProcess {
  const publisher = spawnPublisher(url);
  after(() => publisher.kill("SIGKILL"));
  return publisher;
}

/** Until it is killed, or `frames` have been received. */
export function play(url: string, frames: number | null = null): ChildProcess {
  const transport = url.startsWith("rtsp:") ? ["-rtsp_transport", "tcp"] : [];
  const limit = frames === null ? [] : ["-frames:v", String(frames)];
  const player = spawn("ffmpeg", ["-v", "error", "-nostdin", ...transport, "-i", url, ...limit, "-f", "null", "-"], {
    stdio: "ignore",
  });
  after(() => player.kill("SIGKILL"));
  return player;
}

export const exitOf = async (child: ChildProcess): Promise<number | null> =>
  child.exitCode ?? ((await once(child, "exit")) as [number | null])[0];

/** A WebRTC viewer that has 25 pictures, and the address of its session. */
export async function view(service: TestService, sourceUuid: string) {
  const viewer = await TestViewer.create();
  after(() => viewer.close());
  const answer = await service.call<string>("POST", `/source/${sourceUuid}/whep`, {
    body: viewer.offer,
    headers: { "content-type": "application/sdp" },
  });
  assert.equal(answer.status, 201, answer.text);
  await viewer.connect(answer.text);
  await viewer.until("25 pictures", () => viewer.pictures.length >= 25);
  return { viewer, location: answer.headers.get("location") ?? "" };
}
