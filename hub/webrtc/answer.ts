/** The answer to a browser's offer: one H.264 track is sent, everything else is turned down (RFC 8829, RFC 8839). */
import { isIPv6 } from "node:net";
import type { Offer, OfferedCodec, OfferedMedia } from "./offer.ts";

export interface AnswerParts {
  readonly offer: Offer;
  readonly codec: OfferedCodec;
  readonly sessionId: string;
  readonly ssrc: number;
  readonly cname: string;
  readonly iceUfrag: string;
  readonly icePassword: string;
  /** SHA-256 of our certificate, upper case with colons. */
  readonly fingerprint: string;
  /** Where we are reached, the best first. */
  readonly candidates: readonly { readonly address: string; readonly port: number }[];
}

/** What we make use of; no other feedback is asked for. */
const FEEDBACK = ["nack", "nack pli", "ccm fir"];

export function writeAnswer(parts: AnswerParts): string {
  const { offer } = parts;
  const lines = [
    "v=0",
    `o=- ${parts.sessionId} 1 IN IP4 0.0.0.0`,
    "s=-",
    "t=0 0",
    `a=group:BUNDLE ${offer.media[offer.video]?.mid}`,
    ...offer.media.flatMap((media, i) => (i === offer.video ? describeVideo(media, parts) : turnDown(media))),
  ];
  return `${lines.join("\r\n")}\r\n`;
}

const turnDown = ({ kind, protocol, formats, mid }: OfferedMedia): string[] => [
  `m=${kind} 0 ${protocol} ${formats.split(" ")[0]}`,
  "c=IN IP4 0.0.0.0",
  "a=inactive",
  `a=mid:${mid}`,
];

function describeVideo({ protocol, mid }: OfferedMedia, parts: AnswerParts): string[] {
  const { offer, codec, ssrc, cname } = parts;
  const type = codec.payloadType;
  return [
    `m=video 9 ${protocol} ${type}`,
    "c=IN IP4 0.0.0.0",
    "a=rtcp:9 IN IP4 0.0.0.0",
    ...parts.candidates.map(describeCandidate),
    "a=end-of-candidates",
    `a=ice-ufrag:${parts.iceUfrag}`,
    `a=ice-pwd:${parts.icePassword}`,
    `a=fingerprint:sha-256 ${parts.fingerprint}`,
    "a=setup:passive",
    `a=mid:${mid}`,
    "a=sendonly",
    "a=rtcp-mux",
    ...(offer.hasReducedSize ? ["a=rtcp-rsize"] : []),
    `a=rtpmap:${type} H264/90000`,
    `a=fmtp:${type} level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=${codec.profileLevelId}`,
    ...FEEDBACK.filter((name) => codec.feedback.includes(name)).map((name) => `a=rtcp-fb:${type} ${name}`),
    `a=msid:${cname} video`,
    `a=ssrc:${ssrc} cname:${cname}`,
  ];
}

/** Host candidates of UDP. The priority is as RFC 8445 5.1.2.1 has it. */
function describeCandidate({ address, port }: { address: string; port: number }, i: number): string {
  const preference = (isIPv6(address) ? 65_535 : 32_767) - i;
  const priority = 126 * 2 ** 24 + preference * 2 ** 8 + 255;
  return `a=candidate:${i + 1} 1 udp ${priority} ${address} ${port} typ host`;
}
