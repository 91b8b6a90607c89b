/** Examples of the tag Media server, with a stream that ffmpeg publishes. */
import assert from "node:assert/strict";
import { TestViewer } from "../../../hub/webrtc/test-viewer.fixture.ts";
import type { StartedProcess } from "../../../schemas/api/processes.ts";
import type { ShadowRecord } from "../../../schemas/api/shadows.ts";
import type { SourceRecord } from "../../../schemas/api/sources.ts";
import { poll } from "../../watch.fixture.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import { callWatchers } from "./processes.fixture.ts";
import type { Ids, World } from "./world.fixture.ts";

interface Recordings {
  readonly recordings: readonly {
    readonly uuid: string;
    readonly stopped_at: string | null;
    readonly segments: readonly unknown[];
  }[];
}

export async function callMediaServer(run: ExampleRun, { rtmp, key, publish }: World, { camera }: Ids): Promise<void> {
  const publisher = publish(`${rtmp}/acme/drones/1?api_key=${key}`);
  const params = { source_uuid: camera };
  const read = () => run.service.expect<SourceRecord>(200, "GET", `/source/${camera}`, { key });
  await poll("the stream is published", async () => (await read()).status === "streaming");
  await callWatchers(run, "source", camera);
  await callShadow(run, camera);
  publisher.kill("SIGTERM");
  const { uuid } = await poll("a recording that has ended", async () => {
    const { recordings } = await run.call<Recordings>("listRecordings", 200, { query: { limit: "10" } });
    return recordings.find(({ stopped_at, segments }) => stopped_at !== null && segments.length > 0);
  });
  await run.call("downloadRecording", 200, { params: { recording_uuid: uuid, index: "0" } });
  await run.call("deleteRecording", 200, { params: { recording_uuid: uuid } });

  const viewer = await TestViewer.create();
  try {
    const offer = viewer.offer.replaceAll("a=recvonly", "a=sendonly");
    await poll("the stream has ended", async () => (await read()).status === "offline");
    const session = await run.callSession("publishSource", { params, text: [offer, "application/sdp"] });
    await run.call("unpublishSource", 200, { params: { ...params, session } });
  } finally {
    viewer.close();
  }
}

/** Beside a process on a live stream. */
async function callShadow(run: ExampleRun, camera: string): Promise<void> {
  const [key, rarely] = [run.key, { every: 1000 }];
  const { process_uuid } = await run.service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${camera}`, {
    ...{ key, json: { params: rarely } },
  });
  const params = { process_uuid };
  await run.call("startShadow", 201, { params, json: { params: { ...rarely, confidence: 0.5 }, seconds: 30 } });
  await poll("the shadow runs", async () => {
    const { state, error } = await run.call<ShadowRecord>("getShadow", 200, { params });
    assert.notEqual(state, "failed", error ?? "");
    return state === "running";
  });
  await run.call("stopShadow", 200, { params });
  await run.call("stopProcessesOld", 200);
}
