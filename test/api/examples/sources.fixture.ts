/** Examples of the tag Sources. */
import type { ClipRecord } from "../../../schemas/api/clips.ts";
import type { SourceRecord } from "../../../schemas/api/sources.ts";
import { CAMERA } from "../../golden/street.fixture.ts";
import { poll } from "../../watch.fixture.ts";
import type { ExampleRun } from "./example-run.fixture.ts";
import type { Ids, World } from "./world.fixture.ts";

/** A subtitle file of a DJI drone. */
const SUBTITLES = Array.from({ length: 20 }, (_, index) => {
  const at = (ms: number) => `00:00:00,${String(ms).padStart(3, "0")}`;
  return `${index + 1}\n${at(index * 33)} --> ${at(index * 33 + 33)}\n[focal_len: 24.00] [latitude: ${41.4 + index / 1e5}] [longitude: 2.17] [rel_alt: 50.0 abs_alt: 300.0] [gb_yaw: 10.0 gb_pitch: -60.0 gb_roll: 0.0]\n\n`;
}).join("");

export async function callSources(
  run: ExampleRun,
  { rtmp, clip, flight }: World,
): Promise<Pick<Ids, "video" | "camera">> {
  const { uuid: video } = await run.call<SourceRecord>("uploadVideo", 201, {
    form: { file: [clip, "street.mp4"], alias: "Street", loop: "true" },
  });
  const { uuid: camera } = await run.call<SourceRecord>("registerStream", 201, {
    json: { alias: "Drone 1", input_url: `${rtmp}/acme/drones/1`, stream_type: "rtmp", recording: "always" },
  });
  await run.call("changeSource", 200, {
    params: { source_id: video },
    json: { telemetry_cfg: { type: "static", parameters: CAMERA } },
  });
  await run.call("listSources", 200, { query: { type: "file", limit: "10" } });
  await run.call("readSource", 200, { params: { source_id: video } });
  await run.call("changeRecordingSetting", 200, {
    params: { source_uuid: camera },
    json: { mode: "always", pre_roll_seconds: 5 },
  });
  await run.call("readRecordingSetting", 200, { params: { source_uuid: camera } });
  await callFile(run, flight);
  return { video, camera };
}

/** A video that is played once. */
async function callFile(run: ExampleRun, flight: Uint8Array): Promise<void> {
  const form = { file: [flight, "DJI_0001.mp4"], alias: "Flight 12" } as const;
  const { body } = await run.service.call<SourceRecord>("POST", "/video", { body: toFile(form.file), key: run.key });
  const source_uuid = body.uuid;
  const bySource = { params: { source_id: source_uuid } };
  await run.call("uploadTelemetry", 200, {
    ...bySource,
    form: { file: [SUBTITLES, "DJI_0001.SRT"], format: "dji_srt" },
  });
  await run.call("readTelemetry", 200, bySource);
  await run.call("deleteTelemetry", 200, bySource);
  const params = { source_uuid };
  await run.call("downloadVideo", 200, { params });
  await run.call("downloadClip", 200, { params, query: { from: "0.5", to: "2" } });
  await run.call("downloadThumbnail", 200, { params, query: { at: "1.5", width: "320" } });
  const { uuid: clip_uuid } = await run.call<ClipRecord>("renderClip", 202, {
    json: { source_uuid, from: 0, to: 1, boxes: false },
  });
  const byClip = { params: { clip_uuid } };
  await poll(
    "the clip is rendered",
    async () => (await run.call<ClipRecord>("readClip", 200, byClip)).state === "ready",
  );
  await run.call("listClips", 200, { query: { source_uuid } });
  await run.call("downloadRenderedClip", 200, byClip);
  await run.call("deleteClip", 200, byClip);
}

function toFile([bytes, name]: readonly [Uint8Array, string]): FormData {
  const form = new FormData();
  form.append("file", new Blob([Uint8Array.from(bytes)]), name);
  return form;
}

export async function endSources(run: ExampleRun, { camera }: Ids): Promise<void> {
  await run.call("deleteSource", 200, { params: { source_id: camera } });
}
