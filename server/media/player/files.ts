/** The files that the players' pages are made of, from this machine: no other host is asked for anything. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface PlayerFile {
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
  // Without subtitles, DRM and other sound tracks, which we do not have.
  "hls-library.js": {
    type: SCRIPT,
    read: () => {
      const folder = dirname(createRequire(import.meta.url).resolve("hls.js/package.json"));
      return readFile(join(folder, "dist", "hls.light.min.mjs"), "utf8");
    },
  },
};

/** Nothing but what we serve ourselves; `blob:` is how Media Source Extensions are given to a video. */
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
