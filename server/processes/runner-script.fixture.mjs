/**
 * The script of a runner: it speaks the protocol and runs no graph, so that tests can cause every fault. A process of its
 * own follows it (scripted-runner.fixture.mjs), or the process of the test (scripted-child.fixture.ts).
 */
const TICK_MS = 25;
const TICK_NS = 25_000_000n;

const TRACK = {
  ...{ class_id: 2, class_name: "car", confidence: 90 },
  ...{ bbox: [480, 540, 240, 135], scaled_bbox: [0.25, 0.5, 0.125, 0.125] },
};

/**
 * @typedef {object} Host
 * @property {number | undefined} pid
 * @property {(message: unknown) => void} send to the service
 * @property {(code: number) => void} exit
 * @property {() => void} crash ends it by SIGKILL
 * @property {() => void} grow to more memory than it may use, whatever it reports
 * @property {() => void} hang for ever
 */

/**
 * Follows `params.script` of its job. `hello` spoils its first message.
 *
 * @param {Host} host
 * @param {string} hello
 * @returns {{ receive: (request: { type: string }) => void, close: () => void }}
 */
export function followScript({ pid, send, exit, crash, grow, hang }, hello) {
  const timers = [];
  const close = () => {
    for (const timer of timers.splice(0)) clearTimeout(timer);
  };
  if (hello === "crash") exit(4);
  else if (hello === "garbage") send("good morning");
  else if (hello !== "never") send({ type: "hello", protocol: hello === "old" ? 0 : 8, pid });

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
    close();
    exit(code);
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
    if (ticks === script.crashAt) crash();
    if (ticks === script.exitAt) leave(3);
    if (ticks === script.growsAt) grow();
    if (ticks === script.garbageAt) send({ type: "progress", positionNs: -1 });
    if (ticks === script.hangAt) hang();
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
      if (script.crashesAtStart) crash();
      if (script.refuses) {
        reply(id, null, script.refuses);
        return fail(script.refuses);
      }
      if (script.plays === false) return;
      reply(id);
      if (script.flows !== false) timers.push(setTimeout(begin, script.flowsAfterMs ?? 0));
      timers.push(setInterval(tick, TICK_MS));
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
      reply(id, { pid, attached: Object.fromEntries(attached), outputs, live, job, state, leaseUntilMs });
    },
    lease({ untilMs }) {
      leaseUntilMs = untilMs;
    },
    deliver({ id, message }) {
      if (script.crashesOnDelivery) return leave(3);
      send({ type: "message", channel: "echo", message });
      reply(id, 1);
    },
  };

  return { receive: (request) => answers[request.type](request), close };
}
