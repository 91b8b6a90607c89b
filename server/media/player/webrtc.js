/** Plays WebRTC: sends the offer to `whep` beside this page. */
import { explain, keepPlaying, pictureSize, showFacts, start, Unavailable, withRights } from "./screen.js";

const CONNECT_MS = 10_000;
const FROZEN_MS = 4000;
const LOOK_MS = 500;

async function play(video, live) {
  const connection = new RTCPeerConnection();
  let session = null;
  try {
    connection.addTransceiver("video", { direction: "recvonly" });
    connection.addEventListener("track", ({ streams, track }) => {
      video.srcObject = streams[0] ?? new MediaStream([track]);
      start();
    });
    // The hub learns our addresses from our first packets: no candidates have to be gathered first.
    await connection.setLocalDescription();
    const answer = await fetch(withRights("whep"), {
      method: "POST",
      headers: { "Content-Type": "application/sdp" },
      body: connection.localDescription.sdp,
      signal: AbortSignal.timeout(CONNECT_MS),
    });
    if (!answer.ok) throw await explain(answer);
    session = withRights(`whep/${answer.headers.get("Location").split("?")[0].split("/").at(-1)}`);
    await connection.setRemoteDescription({ type: "answer", sdp: await answer.text() });
    await watch(connection, live, session);
  } finally {
    connection.close();
    if (session !== null) leave(session);
  }
}

const leave = (session) => fetch(session, { method: "DELETE", keepalive: true }).catch(() => {});

/** Returns when the video stalls or the connection is lost. */
async function watch(connection, live, session) {
  const ended = new AbortController();
  const end = () => ended.abort();
  connection.addEventListener("connectionstatechange", () => {
    if (["closed", "failed", "disconnected"].includes(connection.connectionState)) end();
  });
  const dtls = connection.getReceivers()[0]?.transport;
  dtls?.addEventListener("statechange", () => {
    if (["closed", "failed"].includes(dtls.state)) end();
  });
  const goodbye = () => leave(session);
  addEventListener("pagehide", goodbye);
  try {
    await look(connection, live, ended.signal);
  } finally {
    removeEventListener("pagehide", goodbye);
  }
}

async function look(connection, live, signal) {
  let before = null;
  let movedAt = performance.now();
  let isLive = false;
  while (!signal.aborted) {
    const now = await readStats(connection);
    if (now !== null && now.frames > (before?.frames ?? 0)) {
      movedAt = performance.now();
      if (!isLive) live();
      isLive = true;
      if (before !== null) showFacts([pictureSize(), describeDelay(before, now), describeRate(before, now)]);
      before = now;
    }
    const patienceMs = isLive ? FROZEN_MS : CONNECT_MS;
    if (performance.now() - movedAt > patienceMs) {
      if (isLive) return;
      throw new Unavailable("No connection", "No video packets arrive. A firewall may block UDP.");
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, LOOK_MS);
      signal.addEventListener("abort", () => resolve(clearTimeout(timer)), { once: true });
    });
  }
}

async function readStats(connection) {
  let found = null;
  let rttMs = 0;
  for (const entry of (await connection.getStats()).values()) {
    if (entry.type === "candidate-pair" && entry.nominated) rttMs = (entry.currentRoundTripTime ?? 0) * 1000;
    if (entry.type !== "inbound-rtp" || entry.kind !== "video") continue;
    found = {
      atMs: entry.timestamp,
      frames: entry.framesDecoded ?? 0,
      // Time spent in this browser, of all frames so far.
      delaySeconds: entry.totalProcessingDelay ?? entry.jitterBufferDelay ?? 0,
    };
  }
  return found === null ? null : { ...found, rttMs };
}

function describeDelay(before, now) {
  const here = ((now.delaySeconds - before.delaySeconds) / (now.frames - before.frames)) * 1000;
  return `${Math.max(10, Math.round((here + now.rttMs / 2) / 10) * 10)} ms from the server`;
}

const describeRate = (before, now) =>
  `${Math.round(((now.frames - before.frames) * 1000) / Math.max(1, now.atMs - before.atMs))} fps`;

keepPlaying(play);
