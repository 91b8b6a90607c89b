/** Examples of the tags Process, Outputs, Telemetry and Track reports. */
import { TestViewer } from "../../../hub/webrtc/test-viewer.fixture.ts";
import type { OutputRecord } from "../../../schemas/api/outputs.ts";
import type { ProcessRecord, StartedProcess } from "../../../schemas/api/processes.ts";
import { poll } from "../../watch.fixture.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import type { Ids } from "./world.fixture.ts";

/** Little inference. */
const PARAMS = { every: 10, classes: ["car", "stop sign", "clock"] };

/** Resolves with the process that other sections use. */
export async function startMain(run: ExampleRun, { video }: Ids): Promise<string> {
  const { process_uuid } = await run.call<StartedProcess>("startProcess", 201, {
    query: { source_uuid: video, graph: "detect" },
    json: { params: PARAMS },
  });
  return process_uuid;
}

export async function callProcesses(run: ExampleRun, { process: process_uuid, video }: Ids): Promise<void> {
  const params = { process_uuid };
  await run.call("getProcessUrls", 200, { params });
  await run.call("watchEvents", 200, { params, until: "event: detections" });
  await run.call("watchFeed", 200, { params, query: { overlay: "boxes" }, until: "Content-Type: image/jpeg" });
  for (const id of ["readDetectionData", "readDroneData", "sendTelemetry"]) await run.call(id, 426, { params });

  await callOutput(run, process_uuid);
  await run.call("changeProcessRecordingSetting", 200, { params, json: { mode: "always" } });
  await run.call("readProcessRecordingSetting", 200, { params });
  await poll("a recorded file", async () => {
    const { recordings } = await run.service.expect<ProcessRecord>(200, "GET", `/process/${process_uuid}`, {
      key: run.key,
    });
    return recordings.some(({ size_bytes }) => size_bytes > 0);
  });
  await run.call("downloadProcessRecording", 200, { params: { process_uuid, index: "0" } });
  // It would be encoded until the end of the tests.
  await run.service.expect(200, "PATCH", `/process/${process_uuid}/recording`, {
    ...{ key: run.key, json: { mode: "off" } },
  });
  await poll("stored detections", async () => (await run.call<string>("streamDetections", 200, { params })).length > 0);
  await poll("stored cameras", async () => (await run.call<string>("streamCamera", 200, { params })).length > 0);

  await callCalibration(run, video);
  await run.call("readTimeline", 200, { params: { source_uuid: video } });
}

async function callOutput(run: ExampleRun, process_uuid: string): Promise<void> {
  const { uuid: output_uuid } = await run.call<OutputRecord>("registerOutput", 201, {
    json: { alias: "Wall", type: "rtsp", url: "rtsp://wall/street", settings: "360p" },
  });
  const params = { output_uuid };
  await run.call("changeOutput", 200, { params, json: { alias: "Video wall" } });
  await run.call("attachOutput", 200, { params: { process_uuid, output_uuid } });
  await poll(
    "the output is live",
    async () => (await run.call<OutputRecord>("readOutput", 200, { params })).status === "live",
  );
  await run.call("listOutputs", 200, { query: { type: "rtsp" } });
  await callWatchers(run, "output", output_uuid);
  await run.call("detachOutput", 200, { params: { process_uuid, output_uuid } });
  await run.call("deleteOutput", 200, { params });
}

/** Players of a published stream. */
export async function callWatchers(run: ExampleRun, kind: "source" | "output", uuid: string): Promise<void> {
  const [name, params] = [kind === "source" ? "Source" : "Output", { [`${kind}_uuid`]: uuid }];
  await run.call(`read${name}Stats`, 200, { params });
  await poll("the playlist", async () => {
    const path = `/${kind}/${uuid}/hls/index.m3u8`;
    return (await run.service.send("GET", path, { key: run.key })).status === 200;
  });
  await run.call(`read${name}Hls`, 200, { params: { ...params, file: "index.m3u8" } });
  await run.call(`get${name}HlsPage`, 200, { params });
  await run.call(`get${name}WebrtcPage`, 200, { params });
  const viewer = await TestViewer.create();
  try {
    const session = await run.callSession(`watch${name}`, { params, text: [viewer.offer, "application/sdp"] });
    await run.call(`leave${name}`, 200, { params: { ...params, session } });
  } finally {
    viewer.close();
  }
}

async function callCalibration(run: ExampleRun, source_uuid: string): Promise<void> {
  const params = { source_uuid };
  await run.call("calibrateSource", 200, {
    params,
    json: { landmarks: [{ x: 0.42, y: 0.31, latitude: 48.13741, longitude: 11.57548, altitude: 519 }] },
  });
  await run.call("readCalibration", 200, { params });
  await run.call("deleteCalibration", 200, { params });
}

/** Other sections call the other ways to end processes, with processes of theirs. */
export async function endProcesses(run: ExampleRun, { process: process_uuid }: Ids): Promise<void> {
  const params = { process_uuid };
  await run.call("pauseProcess", 200, { params });
  await run.call("resumeProcess", 200, { params });
  await run.call("listProcesses", 200, { query: { state: "active", limit: "10" } });
  await run.call("readProcess", 200, { params });
  await run.call("readTracks", 200, { params, query: { limit: "1", patches: "false" } });
  await run.call("postTracks", 200, { params, query: { limit: "1" } });
  await run.call("listTrackedProcesses", 200);
  await run.call("stopProcess", 200, { params });
  await run.call("enhanceTracks", 200, { params });
  await poll("the enhancement ends", async () => {
    const { status } = await run.call<{ status: string }>("readEnhancement", 200, { params });
    return status === "FINISHED" || status === "FAILED";
  });
  await run.call("askForEnhancement", 200, { params });
  await run.call("deleteTracks", 200, { params });
}
