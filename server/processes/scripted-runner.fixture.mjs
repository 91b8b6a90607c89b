/**
 * A runner that follows `params.script` of its job: it speaks the protocol and runs no graph, so that tests can cause every
 * fault. `SCRIPTED_HELLO` in the environment spoils its first message.
 */
const TICK_MS = 25;
const TICK_NS = 25_000_000n;

const TRACK = {
  ...{ class_id: 2, class_name: "car", confidence: 90 },
  ...{ bbox: [480, 540, 240, 135], scaled_bbox: [0.25, 0.5, 0.125, 0.125] },
};

const hello = process.env.SCRIPTED_HELLO ?? "";
if (hello === "crash") process.exit(4);
if (hello === "garbage") process.send("good morning");
else if (hello !== "never") process.send({ type: "hello", protocol: hello === "old" ? 0 : 8, pid: process.pid });

let job = null;
let script = {};
let state = "idle";
let positionNs = 0n;
let nextTrackId = 1;
let runningMs = 0;
let ticks = 0;
const attached = new Map();
const outputs = {};
const live = {};
let leaseUntilMs = null;
const grown = [];

const send = (message) => process.connected && process.send(message);
const reply = (id, result = null, error = null) => send({ type: "reply", id, result, error });
const enter = (next, failure = null) => {
  state = next;
  send({ type: "state", state, failure });
};

/** As an output of the real one does, at once live. */
function attach(name, slot, params) {
  attached.set(name, slot);
  outputs[name] = params;
  if (params.url === undefined) return;
  const status = script.outputStatus ?? "live";
  const detail = status === "live" ? null : "rtmp://ada:secret@there/ is unreachable";
  send({ type: "attachment", attachment: name, status, detail, framesSent: 5, framesDropped: 1 });
}

function leave(code = 0) {
  process.disconnect?.();
  process.exit(code);
}

function progress() {
  const stats = {
    ...{ fps_in: 25, fps_processed: 20, fps_out: 25, frames_dropped: 0, latency_ms: { p50: 1, p95: 2 } },
    ...{ inference_ms: 3, rss_bytes: 1000, loop_delay_ms: 0 },
  };
  send({ type: "progress", positionNs: String(positionNs), nextTrackId, runningMs, messagesLost: 0, stats });
}

function begin() {
  send({ type: "flowing" });
  enter("running");
}

function tick() {
  if (state !== "running") return;
  ticks += 1;
  positionNs += TICK_NS;
  runningMs += TICK_MS * (script.runningFactor ?? 1);
  const track = { ...TRACK, track_id: nextTrackId++ };
  const timestamp = new Date().toISOString();
  const message = { timestamp, source_uri: job.sourceLabel, process_uuid: job.uuid, active_tracks: [track] };
  send({ type: "kept", node: "track", state: `tracks up to ${track.track_id}` });
  send({ type: "message", channel: "detection_data", message });
  if (!script.sendsNoProgress) progress();
  if (script.finds && ticks % script.finds === 0) find();
  if (ticks === script.elementAt || script.elementRepeats)
    send({ type: "element", node: "geolocate", event: script.elementEvent });
  if (ticks === script.crashAt) process.kill(process.pid, "SIGKILL");
  if (ticks === script.exitAt) process.exit(3);
  // Whatever it reports.
  if (ticks === script.growsAt) grown.push(Buffer.alloc(2 ** 29, 1));
  if (ticks === script.garbageAt) send({ type: "progress", positionNs: -1 });
  // Blocked for ever, without taking the processor from everybody else.
  if (ticks === script.hangAt) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (ticks === script.loseSourceAt) fail({ kind: "source", detail: "rtsp://ada:secret@camera/ is gone" });
  if (ticks === script.reconnectAt && job.sourceUri === script.reconnectFrom)
    send({ type: "reconnecting", reconnecting: true, detail: "gone" });
  if (ticks === script.endAt) {
    progress();
    enter("finished");
    leave();
  }
}

/** As the element `alerts` does: every rule finds something. */
function find() {
  for (const { alert, type } of Object.values(live).flatMap(({ rules = [] }) => rules)) {
    const message = { alert, type, timeMs: Date.now(), event: "triggered", tracks: [], data: { ticks } };
    send({ type: "message", channel: "alerts", message });
  }
}

function fail(failure) {
  enter("failed", failure);
  leave();
}

const answers = {
  start({ id, job: given }) {
    job = given;
    script = job.params.script ?? {};
    positionNs = BigInt(job.positionNs);
    nextTrackId = job.firstTrackId;
    for (const { id: name, slot, params } of job.attach) attach(name, slot, params);
    Object.assign(live, job.live);
    enter("starting");
    if (script.crashesAtStart) process.kill(process.pid, "SIGKILL");
    if (script.refuses) {
      reply(id, null, script.refuses);
      return fail(script.refuses);
    }
    if (script.plays === false) return;
    reply(id);
    if (script.flows !== false) setTimeout(begin, script.flowsAfterMs ?? 0);
    setInterval(tick, TICK_MS);
  },
  pause({ id }) {
    if (script.ignoresPause) return;
    if (state !== "running") return reply(id, null, { kind: "wrong_state", detail: `it is ${state}` });
    enter("paused");
    reply(id);
  },
  resume({ id }) {
    enter("running");
    reply(id);
  },
  stop() {
    if (script.ignoresStop) return;
    progress();
    enter("finished");
    leave();
  },
  attach({ id, attachment, slot, params }) {
    if (script.refusesAttach) return reply(id, null, { kind: "failed", detail: "no encoder" });
    attach(attachment, slot, params);
    reply(id);
  },
  detach({ id, attachment }) {
    attached.delete(attachment);
    delete outputs[attachment];
    reply(id);
  },
  set({ id, nodes }) {
    if (nodes.missing !== undefined) return reply(id, null, { kind: "graph", detail: "there is no node missing" });
    if (nodes.both !== undefined) {
      const faults = ["/both", "/detect/zzz"].map((path) => ({ path, message: "is not there" }));
      return reply(id, null, { kind: "invalid", detail: "both are wrong", faults });
    }
    Object.assign(live, nodes);
    reply(id);
  },
  describe({ id }) {
    reply(id, { pid: process.pid, attached: Object.fromEntries(attached), outputs, live, job, state, leaseUntilMs });
  },
  lease({ untilMs }) {
    leaseUntilMs = untilMs;
  },
  deliver({ id, message }) {
    if (script.crashesOnDelivery) process.exit(3);
    send({ type: "message", channel: "echo", message });
    reply(id, 1);
  },
};

process.on("message", (request) => answers[request.type](request));
process.on("disconnect", () => process.exit(0));
