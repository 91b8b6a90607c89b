/** A shortened offer of Chromium to receive one audio and one video. */
const H264 = [
  [103, "42001f", 1],
  [107, "42001f", 0],
  [109, "42e01f", 1],
  [115, "42e01f", 0],
  [117, "4d001f", 1],
  [39, "64001f", 1],
] as const;

const FEEDBACK = ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"];

const TRANSPORT = [
  "c=IN IP4 0.0.0.0",
  "a=rtcp:9 IN IP4 0.0.0.0",
  "a=ice-ufrag:q1Zr",
  "a=ice-pwd:5zTkRS9kFqKqqiPzPcbvyzYD",
  "a=ice-options:trickle",
  `a=fingerprint:sha-256 ${"A1:".repeat(31)}B2`,
  "a=setup:actpass",
];

export function chromiumOffer(): string {
  const video = H264.flatMap(([type, profile, mode]) => [
    `a=rtpmap:${type} H264/90000`,
    ...FEEDBACK.map((name) => `a=rtcp-fb:${type} ${name}`),
    `a=fmtp:${type} level-asymmetry-allowed=1;packetization-mode=${mode};profile-level-id=${profile}`,
  ]);
  return [
    ...["v=0", "o=- 4567 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=msid-semantic: WMS"],
    ...["m=audio 9 UDP/TLS/RTP/SAVPF 111 63", ...TRANSPORT, "a=mid:0", "a=recvonly", "a=rtcp-mux"],
    "a=rtpmap:111 opus/48000/2",
    ...["m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 107 109 115 117 39", ...TRANSPORT, "a=mid:1", "a=recvonly"],
    ...["a=rtcp-mux", "a=rtcp-rsize", "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96"],
    ...video,
    "",
  ].join("\r\n");
}

/** As Safari and Chromium with a hardware decoder offer it, H.265 alone. */
export const h265Offer = (): string =>
  chromiumOffer()
    .replaceAll("H264/90000", "H265/90000")
    .replaceAll(/a=fmtp:(\d+) level-asymmetry.*/g, "a=fmtp:$1 level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST");
