/**
 * Reads a WebRTC offer, and writes the answer that sends or receives one video track and rejects everything else (RFC 8829,
 * RFC 8839). Offers are untrusted: their size is limited and every value that is used is validated.
 */
import { isIPv6 } from "node:net";
import type { VideoCodec, VideoTrack } from "../../media/access-unit.ts";
import type { Codec } from "../../media/codec.ts";
import { codecOf, findByEncoding, SUPPORTED_VIDEO } from "../../media/codecs.ts";
import { StatusError } from "../errors.ts";

/** One payload type. */
export interface OfferedCodec {
  readonly payloadType: number;
  readonly codec: Codec;
  /** Of H.264: six hexadecimal digits for profile, constraints, level. Empty for others. */
  readonly profileLevelId: string;
  /** For the answer. */
  readonly parameters: string;
  /** `nack`, `nack pli`, …, as offered. */
  readonly feedback: readonly string[];
}

/** One `m=` section. */
export interface OfferedMedia {
  readonly kind: string;
  readonly protocol: string;
  readonly formats: string;
  readonly mid: string;
}

export interface Offer {
  readonly media: readonly OfferedMedia[];
  /** Index of the video to send. */
  readonly video: number;
  /** Supported ones, in order of preference. Never empty. */
  readonly codecs: readonly OfferedCodec[];
  readonly hasReducedSize: boolean;
  readonly iceUfrag: string;
  readonly icePassword: string;
  /** The hash by its SDP name (`sha-256`), the value in upper case with colons. */
  readonly fingerprints: readonly { readonly algorithm: string; readonly value: string }[];
}

const MAX_BYTES = 65_536;
const MAX_SECTIONS = 16;
const TOKEN = /^[!-~]{1,64}$/;
/** RFC 8839, 5.4. */
const ICE_PASSWORD = /^[A-Za-z0-9+/]{22,256}$/;
const FINGERPRINT = /^(sha-256|sha-384|sha-512) ((?:[0-9A-F]{2}:)+[0-9A-F]{2})$/i;

interface Section {
  readonly head: string;
  readonly attributes: readonly string[];
}

/** What the client does with the video. */
export type Purpose = "play" | "publish";

/** Throws a `StatusError`. */
export function readOffer(sdp: string, purpose: Purpose = "play"): Offer {
  if (Buffer.byteLength(sdp) > MAX_BYTES) throw new StatusError(400, `An SDP offer has at most ${MAX_BYTES} bytes.`);
  const [session, ...sections] = split(sdp);
  if (session === undefined || sections.length === 0 || sections.length > MAX_SECTIONS) {
    throw new StatusError(400, `Expected an SDP offer: v=0 and 1 to ${MAX_SECTIONS} sections m=.`);
  }
  const media = sections.map(readMedia);
  const video = media.findIndex(({ kind }, i) => kind === "video" && isWanted(sections[i] as Section, purpose));
  const section = sections[video];
  if (section === undefined) {
    const wanted = purpose === "play" ? "to receive (m=video, recvonly)" : "to send (m=video, sendonly)";
    throw new StatusError(406, `The offer has no video ${wanted}.`);
  }
  if (media[video]?.protocol !== "UDP/TLS/RTP/SAVPF" || !section.attributes.includes("rtcp-mux")) {
    throw new StatusError(406, "The offer's video must be UDP/TLS/RTP/SAVPF with rtcp-mux.");
  }
  const codecs = readCodecs(section);
  if (codecs.length === 0) {
    throw new StatusError(406, `The offer has no ${SUPPORTED_VIDEO} (H.264 with packetization-mode=1).`);
  }
  const find = (name: string): string[] => {
    const own = values(section, name);
    return own.length > 0 ? own : values(session, name);
  };
  const iceUfrag = find("ice-ufrag")[0] ?? "";
  if (!TOKEN.test(iceUfrag)) throw new StatusError(400, "The offer has no valid a=ice-ufrag.");
  const icePassword = find("ice-pwd")[0] ?? "";
  if (!ICE_PASSWORD.test(icePassword)) {
    throw new StatusError(400, "The offer has no valid a=ice-pwd (22 to 256 letters, digits, + or /).");
  }
  const fingerprints = find("fingerprint").flatMap((text) => {
    const [, algorithm, value] = FINGERPRINT.exec(text.trim()) ?? [];
    return algorithm && value ? [{ algorithm: algorithm.toLowerCase(), value: value.toUpperCase() }] : [];
  });
  if (fingerprints.length === 0) throw new StatusError(400, "The offer has no a=fingerprint by SHA-256, 384 or 512.");
  if (!["actpass", "active"].includes(find("setup")[0] ?? "actpass")) {
    throw new StatusError(406, "The offer must let the server be the DTLS server: a=setup:actpass.");
  }
  const hasReducedSize = section.attributes.includes("rtcp-rsize");
  return { media, video, codecs, hasReducedSize, iceUfrag, icePassword, fingerprints };
}

/** The session section first, then one for each `m=`. */
function split(sdp: string): Section[] {
  const lines = sdp.split(/\r?\n/);
  if (lines[0] !== "v=0") throw new StatusError(400, "Expected an SDP offer, which starts with v=0.");
  const sections: { head: string; attributes: string[] }[] = [{ head: "", attributes: [] }];
  for (const line of lines) {
    if (line.startsWith("m=")) sections.push({ head: line.slice(2), attributes: [] });
    else if (line.startsWith("a=")) sections.at(-1)?.attributes.push(line.slice(2));
  }
  return sections;
}

const values = (section: Section, name: string): string[] =>
  section.attributes.filter((text) => text.startsWith(`${name}:`)).map((text) => text.slice(name.length + 1));

function readMedia(section: Section): OfferedMedia {
  const [, kind, protocol, formats] = /^([a-z]{1,16}) \d{1,5} ([A-Z/]{1,32}) ([!-~ ]{1,512})$/.exec(section.head) ?? [];
  const mid = values(section, "mid")[0] ?? "";
  if (!kind || !protocol || !formats || !TOKEN.test(mid)) {
    throw new StatusError(400, "Every section of the offer needs its m= line and an a=mid.");
  }
  return { kind, protocol, formats, mid };
}

const isWanted = ({ head, attributes }: Section, purpose: Purpose): boolean =>
  !/^video 0 /.test(head) &&
  !attributes.includes(purpose === "play" ? "sendonly" : "recvonly") &&
  !attributes.includes("inactive");

function readCodecs(section: Section): OfferedCodec[] {
  const ofType = (name: string, type: string) =>
    values(section, name).flatMap((text) => (text.startsWith(`${type} `) ? [text.slice(type.length + 1)] : []));
  return values(section, "rtpmap").flatMap((text) => {
    const [, type, encoding = ""] = /^(\d{1,3}) (H26[45])\/90000$/i.exec(text) ?? [];
    const codec = findByEncoding(encoding.toUpperCase());
    if (type === undefined || Number(type) > 127 || codec === undefined) return [];
    const given = new Map(
      (ofType("fmtp", type)[0] ?? "").split(";").map((pair) => {
        const [name = "", value = ""] = pair.trim().split("=");
        return [name.toLowerCase(), value.toLowerCase()] as const;
      }),
    );
    const described = DESCRIBE[codec.name](given);
    if (described === null) return [];
    return [{ payloadType: Number(type), codec, ...described, feedback: ofType("rtcp-fb", type) }];
  });
}

type Described = Pick<OfferedCodec, "profileLevelId" | "parameters"> | null;

/** What the answer says of an offered codec, by the parameters of the offer. Null: it is not supported in this form. */
const DESCRIBE: Readonly<Record<VideoCodec, (given: ReadonlyMap<string, string>) => Described>> = {
  h264(given) {
    // RFC 6184: the default is baseline at level 1.
    const profileLevelId = given.get("profile-level-id") ?? "42000a";
    if (given.get("packetization-mode") !== "1" || !/^[0-9a-f]{6}$/.test(profileLevelId)) return null;
    const parameters = `level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=${profileLevelId}`;
    return { profileLevelId, parameters };
  },
  h265(given) {
    // RFC 7798, 7.1: the defaults are the main profile at level 3.1.
    const read = (name: string, otherwise: number): number => {
      const value = given.get(name) ?? "";
      return /^\d{1,3}$/.test(value) ? Number(value) : otherwise;
    };
    const [profile, tier, level] = [read("profile-id", 1), read("tier-flag", 0), read("level-id", 93)];
    if ((given.get("tx-mode") ?? "srst") !== "srst") return null;
    return { profileLevelId: "", parameters: `level-id=${level};profile-id=${profile};tier-flag=${tier};tx-mode=SRST` };
  },
};

/** Browsers without a decoder do not offer it. */
const notOffered = (title: string): string =>
  `This stream is ${title}, which this browser does not offer to decode. Play it by RTSP, or by HLS in a browser that decodes ${title}; encode the stream as H.264; or watch the processed video, which is H.264 (an output of type rtsp).`;

/** Profiles of H.264 with more than 8 bits, or with more colour than 4:2:0: no browser shows them unless it offers them. */
const DEEP: ReadonlyMap<number, string> = new Map([
  [110, "H.264 with 10 bits (High 10)"],
  [122, "H.264 with 10 bits (High 4:2:2)"],
  [244, "H.264 with the profile High 4:4:4"],
]);

/**
 * The payload type for a stream. H.264: the same profile if offered, otherwise a higher one, which decodes it too, otherwise
 * the first: browsers read the SPS itself. Throws a `StatusError` if the codec is not offered.
 */
export function chooseCodec(offered: readonly OfferedCodec[], track: Pick<VideoTrack, "codec" | "sets">): OfferedCodec {
  const codecs = offered.filter(({ codec }) => codec.name === track.codec);
  const ranks = [0x42, 0x4d, 0x64];
  const profileOf = (codec: OfferedCodec) => Number.parseInt(codec.profileLevelId.slice(0, 2), 16);
  const profile = track.sets[0]?.[1] ?? 0x42;
  const deep = track.codec === "h264" ? DEEP.get(profile) : undefined;
  if (deep !== undefined && !codecs.some((codec) => profileOf(codec) === profile))
    throw new StatusError(406, notOffered(deep));
  const above = codecs.filter((codec) => ranks.indexOf(profileOf(codec)) > ranks.indexOf(profile));
  const chosen = codecs.find((codec) => profileOf(codec) === profile) ?? above[0] ?? codecs[0];
  if (chosen === undefined) throw new StatusError(406, notOffered(codecOf(track).title));
  return chosen;
}

/** Of what a publisher offers: constrained baseline, which every encoder has, else its first choice of H.264: browsers play it. */
export function chooseSentCodec(offered: readonly OfferedCodec[]): OfferedCodec {
  const codecs = offered.filter(({ codec }) => codec.name === "h264");
  const chosen = codecs.find(({ profileLevelId }) => profileLevelId.startsWith("42e0")) ?? codecs[0];
  if (chosen === undefined) throw new StatusError(406, "The offer has no H.264.");
  return chosen;
}

export interface AnswerOptions {
  readonly offer: Offer;
  readonly codec: OfferedCodec;
  /** Null: the client sends. */
  readonly ssrc: number | null;
  readonly cname: string;
  readonly iceUfrag: string;
  readonly icePassword: string;
  /** SHA-256 of the server's certificate, upper case with colons. */
  readonly fingerprint: string;
  /** Addresses of the server, the best first. */
  readonly candidates: readonly { readonly address: string; readonly port: number }[];
}

/** The supported feedback. */
const FEEDBACK = ["nack", "nack pli", "ccm fir"];

export function writeAnswer(options: AnswerOptions): string {
  const { offer, ssrc } = options;
  const lines = [
    "v=0",
    `o=- ${ssrc ?? 1} 1 IN IP4 0.0.0.0`,
    "s=-",
    "t=0 0",
    `a=group:BUNDLE ${offer.media[offer.video]?.mid}`,
    ...offer.media.flatMap((media, i) => (i === offer.video ? describeVideo(media, options) : rejectMedia(media))),
  ];
  return `${lines.join("\r\n")}\r\n`;
}

const rejectMedia = ({ kind, protocol, formats, mid }: OfferedMedia): string[] => [
  `m=${kind} 0 ${protocol} ${formats.split(" ")[0]}`,
  "c=IN IP4 0.0.0.0",
  "a=inactive",
  `a=mid:${mid}`,
];

function describeVideo({ protocol, mid }: OfferedMedia, options: AnswerOptions): string[] {
  const { offer, codec, ssrc, cname } = options;
  const type = codec.payloadType;
  return [
    `m=video 9 ${protocol} ${type}`,
    "c=IN IP4 0.0.0.0",
    "a=rtcp:9 IN IP4 0.0.0.0",
    ...options.candidates.map(describeCandidate),
    "a=end-of-candidates",
    `a=ice-ufrag:${options.iceUfrag}`,
    `a=ice-pwd:${options.icePassword}`,
    `a=fingerprint:sha-256 ${options.fingerprint}`,
    "a=setup:passive",
    `a=mid:${mid}`,
    ssrc === null ? "a=recvonly" : "a=sendonly",
    "a=rtcp-mux",
    ...(offer.hasReducedSize ? ["a=rtcp-rsize"] : []),
    `a=rtpmap:${type} ${codec.codec.encoding}/90000`,
    `a=fmtp:${type} ${codec.parameters}`,
    ...FEEDBACK.filter((name) => codec.feedback.includes(name)).map((name) => `a=rtcp-fb:${type} ${name}`),
    ...(ssrc === null ? [] : [`a=msid:${cname} video`, `a=ssrc:${ssrc} cname:${cname}`]),
  ];
}

/** A UDP host candidate, with the priority of RFC 8445, 5.1.2.1. */
function describeCandidate({ address, port }: { address: string; port: number }, i: number): string {
  const preference = (isIPv6(address) ? 65_535 : 32_767) - i;
  const priority = 126 * 2 ** 24 + preference * 2 ** 8 + 255;
  return `a=candidate:${i + 1} 1 udp ${priority} ${address} ${port} typ host`;
}
