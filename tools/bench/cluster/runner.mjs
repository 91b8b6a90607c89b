/**
 * A runner without a graph: it speaks the protocol, and every second it reports its progress, a detection message and ten
 * tracks. So a node can run many processes on a small machine, and the database gets what real ones would write.
 */
const SECOND_MS = 1000;
/** Tracks at a time; the oldest ends every few seconds. */
const TRACKS = 10;
const TRACK_SECONDS = 30;

let state = "idle";
let job = null;
let seconds = 0;
let nextTrackId = 1;
let tracks = [];

const send = (message) => process.connected && process.send(message);
const reply = (id, result = null) => send({ type: "reply", id, result, error: null });
const enter = (next) => {
  state = next;
  send({ type: "state", state, failure: null });
};

function progress() {
  const stats = {
    ...{ fps_in: 25, fps_processed: 20, fps_out: 25, frames_dropped: 0, latency_ms: { p50: 40, p95: 60 } },
    ...{ inference_ms: 30, rss_bytes: 300_000_000, loop_delay_ms: 0 },
  };
  const runningMs = seconds * SECOND_MS;
  const cpuMs = runningMs * 0.3;
  const positionNs = String(BigInt(runningMs) * 1_000_000n);
  send({ type: "progress", positionNs, nextTrackId, runningMs, cpuMs, messagesLost: 0, stats });
}

function report(timeMs) {
  if (tracks.length < TRACKS)
    while (tracks.length < TRACKS)
      tracks.push({ id: nextTrackId++, firstSeenMs: timeMs, sightings: 0, until: seconds + TRACK_SECONDS });
  // Staggered, as objects come and go.
  for (const [i, track] of tracks.entries()) track.until -= seconds === 1 ? i * 3 : 0;
  const box = [100, 100, 80, 160];
  const message = {
    tracks: tracks.map((track) => {
      const sightings = ++track.sightings;
      return {
        ...{ id: track.id, classId: 0, className: "person", firstSeenMs: track.firstSeenMs, lastSeenMs: timeMs },
        ...{ sightings, confidence: { best: 0.9, mean: 0.8, least: 0.7 }, box, isLive: seconds < track.until },
        ...{ pointsBefore: sightings - 1, points: [{ timeMs, confidence: 0.8, box, spot: null }] },
      };
    }),
  };
  send({ type: "message", channel: "track_report", message });
  tracks = tracks.filter(({ until }) => seconds < until);
}

function tick() {
  if (state !== "running") return;
  seconds += 1;
  const timeMs = Date.now();
  const active = tracks.map(({ id }) => ({
    ...{ track_id: id, class_id: 0, class_name: "person", confidence: 80 },
    ...{ bbox: [480, 540, 240, 135], scaled_bbox: [0.25, 0.5, 0.125, 0.125] },
  }));
  const message = {
    timestamp: new Date(timeMs).toISOString(),
    source_uri: job.sourceLabel ?? "",
    process_uuid: job.uuid,
    active_tracks: active,
  };
  send({ type: "message", channel: "detection_data", message });
  report(timeMs);
  progress();
}

const answers = {
  start({ id, job: given }) {
    job = given;
    nextTrackId = job.firstTrackId;
    enter("starting");
    reply(id);
    send({ type: "flowing" });
    enter("running");
    setInterval(tick, SECOND_MS);
  },
  pause({ id }) {
    enter("paused");
    reply(id);
  },
  resume({ id }) {
    enter("running");
    reply(id);
  },
  stop() {
    enter("finished");
    process.disconnect?.();
    process.exit(0);
  },
  set: ({ id }) => reply(id, { replaced: [] }),
  describe: ({ id }) => reply(id, {}),
  deliver: ({ id }) => reply(id, 0),
  lease() {},
};

process.on("message", (request) => (answers[request.type] ?? (({ id }) => reply(id)))(request));
process.on("disconnect", () => process.exit(0));
process.send({ type: "hello", protocol: 8, pid: process.pid });
