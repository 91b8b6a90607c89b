/** The page of a player: one element for the picture, words over it, everything else in files of its own. */
export type PlayerKind = "hls" | "webrtc";

const TITLES: Readonly<Record<PlayerKind, string>> = { hls: "Live by HLS", webrtc: "Live by WebRTC" };

/**
 * The same for every stream: which one it shows follows from its own address. Addresses in it are relative, so that they
 * are right behind a proxy that adds a prefix; the page is two folders deep.
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
