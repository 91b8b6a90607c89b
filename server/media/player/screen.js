/** Shared by both players: messages on the screen, buttons, retries. */

const FIRST_WAIT_MS = 1000;
const MOST_WAIT_MS = 10_000;
/** An offline stream may start at any moment, and a request for it costs the server little. */
const OFFLINE_WAIT_MS = 1500;

const find = (id) => document.getElementById(id);
const video = find("video");

/** The credentials in the URL of this page: sent with every request, never shown. */
const own = new URLSearchParams(location.search);
const rights = new URLSearchParams([...own].filter(([name]) => name === "token" || name === "api_key"));

/** A URL relative to this page, with its credentials. */
export function withRights(address) {
  const url = new URL(address, location.href);
  for (const [name, value] of rights) url.searchParams.set(name, value);
  return url;
}

/** A stream that is not available now (`isFinal`: nor later, with this URL). The viewer sees the message. */
export class Unavailable extends Error {
  constructor(title, detail = "", { isFinal = false, isOffline = false, otherPage = null } = {}) {
    super(title);
    this.detail = detail;
    this.isOffline = isOffline;
    this.isFinal = isFinal;
    this.otherPage = otherPage;
  }
}

/** The meaning of a failed response. */
export async function explain(answer) {
  const problem = await answer.json().catch(() => ({}));
  const detail = typeof problem.detail === "string" ? problem.detail : "";
  if (answer.status === 404) return new Unavailable("Stream offline", "", { isOffline: true });
  if (answer.status === 401 || answer.status === 403) {
    const words = "This URL has expired or is incomplete. Request a new one.";
    return new Unavailable("Not allowed", words, { isFinal: true });
  }
  if (answer.status === 409 || answer.status === 406) {
    return new Unavailable("This stream cannot be played here", detail, { isFinal: true, otherPage: "hls" });
  }
  return new Unavailable("The media server does not respond", detail);
}

function show(state, word, title = "", detail = "", otherPage = null) {
  document.body.dataset.state = state;
  find("word").textContent = word;
  find("message").hidden = title === "";
  find("title").textContent = title;
  find("detail").textContent = detail;
  if (state !== "live") find("facts").textContent = "";
  if (otherPage === null) return;
  const link = document.createElement("a");
  link.href = withRights(otherPage);
  link.textContent = `Watch over ${otherPage.toUpperCase()} instead`;
  find("detail").append(document.createElement("br"), link);
}

export const showLive = () => show("live", "Live");
export const showFacts = (facts) => {
  find("facts").textContent = facts.filter((fact) => fact !== "").join(" · ");
};
export const pictureSize = () => (video.videoWidth > 0 ? `${video.videoWidth}×${video.videoHeight}` : "");
export const showDelay = (ms) =>
  ms < 950 ? `${Math.round(ms / 10) * 10} ms behind` : `${(ms / 1000).toFixed(1)} s behind`;

/**
 * Never returns. `play(video, live, signal)` settles when the video ends; it is called again after a delay that grows
 * while the server does not respond. It calls `live()` when video is visible.
 */
export async function keepPlaying(play) {
  let waitMs = FIRST_WAIT_MS;
  const live = () => {
    waitMs = FIRST_WAIT_MS;
    showLive();
  };
  show("wait", "Connecting…", "Connecting…");
  for (;;) {
    const attempt = new AbortController();
    let reason = new Unavailable("Stream offline");
    try {
      await play(video, live, attempt.signal);
    } catch (error) {
      reason = error instanceof Unavailable ? error : new Unavailable("The media server does not respond");
    } finally {
      attempt.abort();
    }
    if (reason.isFinal) {
      show("fault", reason.message, reason.message, reason.detail, reason.otherPage);
      return;
    }
    if (reason.isOffline) waitMs = Math.min(waitMs, OFFLINE_WAIT_MS);
    const again = waitMs * (0.8 + 0.4 * Math.random());
    show(
      "wait",
      `${reason.message}: retrying…`,
      reason.message,
      reason.detail || "Playback starts as soon as the stream is live.",
    );
    await new Promise((resolve) => setTimeout(resolve, again));
    waitMs = Math.min(waitMs * 2, MOST_WAIT_MS);
  }
}

/** Browsers start muted videos without a tap. */
export async function start() {
  try {
    await video.play();
  } catch (error) {
    if (error.name === "NotAllowedError") show("wait", "Tap to play", "Tap to play");
  }
}

/** Waits for an event, or for the end of the attempt. */
export const once = (target, name, signal) =>
  new Promise((resolve) => {
    target.addEventListener(name, resolve, { once: true, signal });
    signal.addEventListener("abort", resolve, { once: true });
  });

function setSound(isOn) {
  video.muted = !isOn;
  find("sound").setAttribute("aria-pressed", String(isOn));
  find("sound").title = isOn ? "Sound off" : "Sound on";
  find("waves").setAttribute("visibility", isOn ? "visible" : "hidden");
  find("cross").setAttribute("visibility", isOn ? "hidden" : "visible");
}

export const offerSound = (isThere) => {
  find("sound").hidden = !isThere;
};

async function fill() {
  if (document.fullscreenElement !== null) await document.exitFullscreen();
  else if (document.documentElement.requestFullscreen) await document.documentElement.requestFullscreen();
  else video.webkitEnterFullscreen?.();
}

setSound(false);
find("sound").addEventListener("click", () => setSound(video.muted));
find("fill").addEventListener("click", () => fill().catch(() => {}));
document.addEventListener("click", () => {
  if (video.paused) start();
});
document.addEventListener("keydown", ({ key }) => {
  if (key === "f") fill().catch(() => {});
  if (key === "m" && !find("sound").hidden) setSound(video.muted);
});
