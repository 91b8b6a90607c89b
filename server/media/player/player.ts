/** The player pages and the files they load, all served by this machine. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export type PlayerKind = "hls" | "webrtc";

const TITLES: Readonly<Record<PlayerKind, string>> = { hls: "Live by HLS", webrtc: "Live by WebRTC" };

/**
 * The same for every stream: the script derives the stream from the URL of the page. URLs in it are relative, so that they
 * work behind a proxy that adds a prefix; the page is two folders deep.
 */
export const renderPlayer = (kind: PlayerKind): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${TITLES[kind]} · Windhover</title>
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="theme-color" content="#0b1017">
<link rel="icon" href="../../favicon.ico">
<link rel="stylesheet" href="../../player/player.css">
<script type="module" src="../../player/${kind}.js"></script>
</head><body data-state="wait">
<video id="video" muted autoplay playsinline disablepictureinpicture aria-label="Live video"></video>
<main id="message" aria-live="polite"><div class="ring"></div><h1 id="title">Connecting…</h1><p id="detail"></p></main>
<footer id="bar">
<span class="pill" role="status"><span class="dot"></span><span id="word">Connecting…</span></span>
<span class="pill" id="facts"></span>
<span class="space"></span>
<button id="sound" type="button" title="Sound on" aria-label="Sound" hidden><svg viewBox="0 0 24 24" aria-hidden="true">
<path d="M4 9v6h4l5 4V5L8 9z"/><path id="waves" d="M16.5 8.5a5 5 0 0 1 0 7M19 6a8.5 8.5 0 0 1 0 12"/>
<path id="cross" d="M17 9.5l5 5M22 9.5l-5 5"/></svg></button>
<button id="fill" type="button" title="Whole screen" aria-label="Whole screen"><svg viewBox="0 0 24 24" aria-hidden="true">
<path d="M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5"/></svg></button>
</footer>
<noscript>This page needs JavaScript.</noscript>
</body></html>
`;

interface PlayerFile {
  readonly type: string;
  readonly read: () => Promise<string>;
}

const SCRIPT = "text/javascript; charset=utf-8";

const beside = (name: string, type: string): PlayerFile => ({
  type,
  read: () => readFile(fileURLToPath(new URL(name, import.meta.url)), "utf8"),
});

/** Below `/player/`. */
export const PLAYER_FILES: Readonly<Record<string, PlayerFile>> = {
  "player.css": beside("player.css", "text/css; charset=utf-8"),
  "screen.js": beside("screen.js", SCRIPT),
  "webrtc.js": beside("webrtc.js", SCRIPT),
  "hls.js": beside("hls.js", SCRIPT),
  // Without subtitles, DRM and alternate audio, which are not used.
  "hls-library.js": {
    type: SCRIPT,
    read: () => {
      const folder = dirname(createRequire(import.meta.url).resolve("hls.js/package.json"));
      return readFile(join(folder, "dist", "hls.light.min.mjs"), "utf8");
    },
  },
};

/** Only files of this server; `blob:` is how a video element gets Media Source Extensions. */
export const PLAYER_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");
