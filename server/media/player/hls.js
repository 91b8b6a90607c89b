/** Plays low-latency HLS: hls.js where the browser has Media Source Extensions, else the browser's own HLS. */
import Hls from "./hls-library.js";
import {
  explain,
  keepPlaying,
  offerSound,
  once,
  pictureSize,
  showDelay,
  showFacts,
  start,
  Unavailable,
  withRights,
} from "./screen.js";

const FROZEN_MS = 6000;
const FIRST_PICTURE_MS = 15_000;
const LOOK_MS = 500;
const ADDRESS = withRights("hls/index.m3u8");

async function play(video, live, signal) {
  const answer = await fetch(ADDRESS, { signal, cache: "no-store" });
  if (!answer.ok) throw await explain(answer);
  const end = Hls.isSupported() ? attach(video, signal) : attachNative(video, signal);
  await Promise.race([end, look(video, live, signal)]);
}

/** The playlist names a codec that this browser does not decode. */
const UNDECODABLE = ["manifestIncompatibleCodecsError", "bufferAddCodecError", "bufferIncompatibleCodecsError"];

function undecodable() {
  const words =
    "Most browsers do not decode H.265. Play the stream over RTSP, encode it as H.264, or watch the processed video, which is H.264.";
  return new Unavailable("This browser cannot decode the stream", words, { isFinal: true });
}

let player = null;

/** Settles when it cannot continue. */
async function attach(video, signal) {
  const hls = new Hls({
    lowLatencyMode: true,
    enableWorker: false,
    backBufferLength: 10,
    // Catches up soon after a pause instead of adding a second of delay for each.
    maxLiveSyncPlaybackRate: 1.2,
    liveSyncOnStallIncrease: 0.2,
  });
  player = hls;
  signal.addEventListener("abort", () => {
    hls.destroy();
    player = null;
  });
  let hasRecovered = false;
  const failed = new Promise((resolve, reject) => {
    hls.on(Hls.Events.ERROR, (_event, { fatal, type, details }) => {
      if (!fatal) return;
      if (UNDECODABLE.includes(details)) return reject(undecodable());
      if (type !== Hls.ErrorTypes.MEDIA_ERROR || hasRecovered) return resolve();
      hasRecovered = true;
      hls.recoverMediaError();
    });
  });
  hls.on(Hls.Events.BUFFER_CODECS, (_event, { audio, audiovideo }) => offerSound((audio ?? audiovideo) !== undefined));
  hls.on(Hls.Events.MANIFEST_PARSED, () => start());
  hls.loadSource(ADDRESS.href);
  hls.attachMedia(video);
  await Promise.race([failed, once(video, "ended", signal)]);
}

async function attachNative(video, signal) {
  if (video.canPlayType("application/vnd.apple.mpegurl") === "") {
    const words = "This browser can play neither HLS nor fragmented MP4. Try the WebRTC page.";
    throw new Unavailable("This browser cannot play the stream", words, { isFinal: true, otherPage: "webrtc" });
  }
  video.src = ADDRESS.href;
  offerSound(true);
  signal.addEventListener("abort", () => {
    video.removeAttribute("src");
    video.load();
  });
  start();
  await Promise.race([once(video, "error", signal), once(video, "ended", signal)]);
  if (video.error?.code === MediaError.MEDIA_ERR_SRC_NOT_SUPPORTED) throw undecodable();
}

/** Returns when the video stalls. */
async function look(video, live, signal) {
  let shownAt = video.currentTime;
  let movedAt = performance.now();
  let isLive = false;
  while (!signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const isMoving = video.currentTime !== shownAt && video.videoWidth > 0;
    shownAt = video.currentTime;
    // A page in the background may stall, and so may one that waits for a tap.
    if (isMoving || document.hidden || video.paused) movedAt = performance.now();
    if (isMoving) {
      if (!isLive) live();
      isLive = true;
      showFacts([pictureSize(), describeDelay(video)]);
    }
    if (performance.now() - movedAt > (isLive ? FROZEN_MS : FIRST_PICTURE_MS)) return;
  }
}

/** Since the frame was captured if the playlist has its time, else since it was the newest of the playlist. */
function describeDelay(video) {
  const takenAt = player?.playingDate ?? video.getStartDate?.();
  if (player === null) return "";
  const sinceTakenMs = takenAt instanceof Date ? Date.now() - takenAt.getTime() : Number.NaN;
  const isSound = sinceTakenMs > 0 && sinceTakenMs < 60_000;
  return showDelay(isSound ? sinceTakenMs : player.latency * 1000);
}

keepPlaying(play);
