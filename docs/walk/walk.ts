/**
 * The walk of a drone-operations company through the API, with the TypeScript client. docs/walk.md explains each step;
 * walk.py does the same in Python.
 *
 *   WINDHOVER_KEY=wh_… WINDHOVER_OTHER_KEY=wh_… npx tsx docs/walk/walk.ts --clip flight.mp4
 *
 * In a project of your own, import from "@windhover/client".
 */
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type AccountEvent, ApiError, readMessages, sendMessages, Windhover } from "../../client/client.ts";

const HELP = `usage: npx tsx docs/walk/walk.ts [options]

  --url URL           the service; default http://localhost:8080
  --rtsp URL          its media server; default rtsp://localhost:8554
  --name NAME         path of the stream; default walk
  --clip FILE         simulate the drone: ffmpeg publishes this clip; default: wait for yours
  --out FOLDER        for evidence and report; default walk-results
  --wait-seconds N    time limit of each wait; default 600
  --help              show this help

WINDHOVER_KEY is the first key of your account (with --track-logger), WINDHOVER_OTHER_KEY a key of another account.`;

const { values: options } = parseArgs({
  options: {
    url: { type: "string", default: "http://localhost:8080" },
    rtsp: { type: "string", default: "rtsp://localhost:8554" },
    name: { type: "string", default: "walk" },
    clip: { type: "string" },
    out: { type: "string", default: "walk-results" },
    "wait-seconds": { type: "string", default: "600" },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
const { WINDHOVER_KEY: companyKey, WINDHOVER_OTHER_KEY: otherKey } = process.env;
const waitMs = Number(options["wait-seconds"]) * 1000;
if (!companyKey || !otherKey || !(waitMs > 0)) {
  console.error(`set WINDHOVER_KEY and WINDHOVER_OTHER_KEY, and --wait-seconds to a number above 0\n\n${HELP}`);
  process.exit(2);
}
// Node 20 has no WebSocket of its own.
const WebSocket = globalThis.WebSocket ?? ((await import("ws")).WebSocket as unknown as typeof globalThis.WebSocket);

const connect = (apiKey: string) => new Windhover({ url: options.url, apiKey });
const say = (step: string, text: string) => console.log(`${step}: ${text}`);
/** What has to be undone at the end, last first. */
const cleanUp: (() => unknown)[] = [];

/** The code of the error that the call is rejected with. */
async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
  throw new Error("the service accepted what it should reject");
}

/** Reads on until each of these types has come, in any order, and returns the last event. */
async function until(events: AsyncGenerator<AccountEvent, void>, ...types: string[]): Promise<AccountEvent> {
  const missing = new Set(types);
  const late = sleep(waitMs, undefined, { ref: false }).then(() => {
    throw new Error(`no ${[...missing].join(", ")} within ${waitMs / 1000} s`);
  });
  for (;;) {
    const { value: event } = await Promise.race([events.next(), late]);
    if (!event) throw new Error(`the events ended before ${[...missing].join(", ")}`);
    say("event", event.type);
    if (["process-failed", "stream-rejected"].includes(event.type))
      throw new Error(`${event.type}: ${event.data.reason ?? event.data.error?.detail}`);
    missing.delete(event.type);
    if (missing.size === 0) return event;
  }
}

/** Five messages per second of a drone that hovers. A real one sends what it measures. */
async function* hover(signal: AbortSignal): AsyncGenerator<object> {
  while (!signal.aborted) {
    yield {
      ...{ timestamp: Date.now() / 1000, latitude: 47.3769, longitude: 8.5417, altitude: 448, rel_altitude: 40 },
      ...{ camera_pitch: -35, camera_yaw: 90, camera_roll: 0, sensor_hfov: 60, sensor_vfov: 44, speed: 0 },
    };
    await sleep(200);
  }
}

/** What the drone does: it publishes the clip, again and again, until it is landed. */
function simulateDrone(clip: string, url: string): () => void {
  const input = ["-hide_banner", "-loglevel", "error", "-re", "-stream_loop", "-1", "-i", clip, "-an"];
  const encoder = [
    "-c:v",
    "libx264",
    "-preset",
    "ultrafast",
    "-tune",
    "zerolatency",
    "-g",
    "10",
    "-pix_fmt",
    "yuv420p",
  ];
  const drone = spawn("ffmpeg", [...input, ...encoder, "-f", "rtsp", "-rtsp_transport", "tcp", url], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  drone.on("error", (error) => console.error(`ffmpeg cannot be started: ${error.message}`));
  return () => drone.kill();
}

async function walk(): Promise<void> {
  // 1. Two tenants, each with a key of its own.
  const [company, other] = [connect(companyKey ?? ""), connect(otherKey ?? "")];
  const [{ username }, { username: otherName }] = await Promise.all([company.login(), other.login()]);
  if (username === otherName) throw new Error("both keys belong to the same account");
  say("tenants", `${username} and ${otherName}`);

  // 2. The stream of the drone, at the media server of the service.
  const input_url = `${options.rtsp}/${username}/${options.name}`;
  const { uuid: source_uuid } = await company.registerStream({
    body: { alias: options.name, input_url, stream_type: "rtsp", telemetry_cfg: { type: "websocket" } },
  });
  say("stream", `registered ${username}/${options.name}`);

  // 3. Keys with the rights that their holders need. That of the desk is replaced while both are valid, that of the drone
  // at once.
  const first = await company.createKey({ body: { name: "desk", scopes: ["operate"] } });
  const deskKey = await company.rotateKey({ key_uuid: first.uuid, body: { overlap_seconds: 3600 } });
  await Promise.all([connect(first.key).login(), connect(deskKey.key).login()]);
  say("keys", "the desk has a new key, and its old one is valid for an hour");
  const lost = await company.createKey({
    body: { name: "drone", scopes: ["publish"], source_uuids: [source_uuid] },
  });
  const droneKey = await company.rotateKey({ key_uuid: lost.uuid, body: { overlap_seconds: 0 } });
  for (const { uuid: key_uuid } of [first, deskKey, droneKey]) cleanUp.push(() => company.revokeKey({ key_uuid }));
  say("keys", `the drone has a new key, and its old one is rejected: ${await codeOf(connect(lost.key).login())}`);
  say("keys", `the key of the drone reads nothing: ${await codeOf(connect(droneKey.key).listSources())}`);
  const desk = connect(deskKey.key);

  // 4. An alert with evidence. It needs no destination: notices are kept.
  const alert = await desk.registerAlert({
    body: {
      ...{ alias: "People below the drone", type: "grid-density", filter: { class_names: ["person"] } },
      trigger: { count: 1, for_seconds: 0.5, cooldown_seconds: 600 },
      parameters: { rows: 1, columns: 1 },
      evidence: { clip: { before_seconds: 1, after_seconds: 1 }, snapshot: true },
    },
  });
  cleanUp.push(() => desk.deleteAlert({ uuid: alert.uuid }));
  say("alert", alert.alias);

  // 5. The process waits for the drone. Events are followed from here on.
  const { events: newest } = await desk.listEvents({ limit: 1 });
  const following = new AbortController();
  cleanUp.push(() => following.abort());
  const events = desk.followEvents({ after: newest[0]?.id ?? 0, source: source_uuid, signal: following.signal });
  const started = await desk.startProcess({ source_uuid, body: { wait: true, keep: true } });
  const { process_uuid } = started;
  cleanUp.push(() => desk.stopProcess({ process_uuid }).catch(() => {}));
  await until(events, "process-waiting");

  // 6. The drone takes off.
  const publishUrl = input_url.replace("://", `://key:${droneKey.key}@`);
  if (options.clip === undefined) console.log(`publish the drone's video to ${publishUrl}`);
  const land = options.clip === undefined ? () => {} : simulateDrone(options.clip, publishUrl);
  cleanUp.push(land);
  await until(events, "stream-began", "process-started");

  // 7. It sends telemetry with its own key, and detected objects get positions.
  const telemetryUrl = new URL(started.telemetry_url);
  telemetryUrl.searchParams.set("api_key", droneKey.key);
  const flight = new AbortController();
  cleanUp.push(() => flight.abort());
  const sending = sendMessages(telemetryUrl.href, hover(flight.signal), { signal: flight.signal, WebSocket });
  const urls = await desk.getProcessUrls({ process_uuid });
  const findObject = async () => {
    const signal = AbortSignal.any([flight.signal, AbortSignal.timeout(waitMs)]);
    type Message = { active_tracks: readonly { class_name: string; latitude?: number; longitude?: number }[] };
    for await (const { active_tracks } of readMessages<Message>(urls.detection_data_url, { signal, WebSocket }))
      for (const track of active_tracks)
        if (track.class_name === "person" && track.latitude !== undefined) return track;
    throw new Error("the detections ended before a person had a position");
  };
  const found = await Promise.race([findObject(), sending.then(() => null)]);
  if (!found) throw new Error("the telemetry ended");
  say("telemetry", `a ${found.class_name} is at ${found.latitude?.toFixed(3)}, ${found.longitude?.toFixed(3)}`);

  // 8. The alert, with its evidence.
  const { data } = await until(events, "evidence-ready");
  const notice_uuid = data.notice_uuid ?? "";
  const notice = await desk.readNotice({ notice_uuid });
  await mkdir(options.out, { recursive: true });
  const save = async (name: string, answer: Response) =>
    writeFile(join(options.out, name), new Uint8Array(await answer.arrayBuffer()));
  await save("evidence.mp4", await desk.downloadEvidenceClip({ notice_uuid }));
  await save("evidence.jpg", await desk.downloadEvidenceSnapshot({ notice_uuid }));
  await desk.reviewNotice({ notice_uuid, body: { reviewed: true, comment: "seen by the walk" } });
  say("evidence", `${notice.alias}: evidence is ${notice.evidence?.state}, clip and snapshot are in ${options.out}`);

  // 9. The drone lands: the process waits again, and the recording is complete.
  flight.abort();
  await sending;
  land();
  if (options.clip === undefined) console.log("stop publishing");
  await until(events, "stream-ended", "process-waiting", "recording-closed");
  await desk.stopProcess({ process_uuid });
  await until(events, "process-finished");

  // 10. The report of the flight.
  const report = await desk.readTracks({ process_uuid, format: "json", patches: false });
  const tracks = "tracks" in report ? report.tracks : [];
  const located = tracks.filter(({ last_location }) => last_location !== null);
  await writeFile(join(options.out, "report.json"), JSON.stringify(report));
  say("report", `${tracks.length} tracks, ${located.length} with a position`);

  // 11. The other tenant has seen nothing of it.
  const { sources } = await other.listSources();
  const { events: otherEvents } = await other.listEvents();
  const isSeen =
    sources.some(({ uuid }) => uuid === source_uuid) || otherEvents.some((e) => e.process_uuid === process_uuid);
  const codes = [await codeOf(other.readProcess({ process_uuid })), await codeOf(other.readNotice({ notice_uuid }))];
  if (isSeen) throw new Error(`${otherName} sees what belongs to ${username}`);
  say("tenants", `${otherName} sees nothing of it: ${codes.join(", ")}`);
}

try {
  await walk();
} catch (error) {
  console.error(
    `failed: ${error instanceof ApiError ? `${error.status} ${error.code}: ` : ""}${(error as Error).message}`,
  );
  if (error instanceof ApiError) for (const { path, message } of error.errors) console.error(`  ${path} ${message}`);
  process.exitCode = 1;
} finally {
  for (const undo of cleanUp.reverse())
    await Promise.resolve(undo()).catch((error) => console.error(`clean-up: ${error}`));
  say("end", "alert deleted, keys revoked");
}
