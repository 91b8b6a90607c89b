/** Reads what a browser offers (RFC 8829), as far as a sender of one H.264 track must know it. */
import { WhepRefusal } from "./refusal.ts";

/** Of one payload type. */
export interface OfferedCodec {
  readonly payloadType: number;
  /** Six hexadecimal digits: profile, constraints, level. */
  readonly profileLevelId: string;
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
  /** Which of them is the video to send. */
  readonly video: number;
  /** H.264 with packetization-mode 1, in the order of the browser's liking. Never empty. */
  readonly codecs: readonly OfferedCodec[];
  readonly hasReducedSize: boolean;
  readonly iceUfrag: string;
  readonly icePassword: string;
  /** Hash by its name as in SDP (`sha-256`), value in upper case with colons. */
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

export function readOffer(sdp: string): Offer {
  if (Buffer.byteLength(sdp) > MAX_BYTES) throw new WhepRefusal(400, `An SDP offer has at most ${MAX_BYTES} bytes.`);
  const [session, ...sections] = split(sdp);
  if (session === undefined || sections.length === 0 || sections.length > MAX_SECTIONS) {
    throw new WhepRefusal(400, `An SDP offer was expected: v=0 and 1 to ${MAX_SECTIONS} sections m=.`);
  }
  const media = sections.map(readMedia);
  const video = media.findIndex(({ kind }, i) => kind === "video" && isWanted(sections[i] as Section));
  const section = sections[video];
  if (section === undefined) throw new WhepRefusal(406, "The offer has no video to receive (m=video, recvonly).");
  if (media[video]?.protocol !== "UDP/TLS/RTP/SAVPF" || !section.attributes.includes("rtcp-mux")) {
    throw new WhepRefusal(406, "The offer's video must be UDP/TLS/RTP/SAVPF with rtcp-mux.");
  }
  const codecs = readCodecs(section);
  if (codecs.length === 0) {
    throw new WhepRefusal(406, "The offer has no H.264 with packetization-mode=1, which is all that is sent.");
  }
  const of = (name: string): string[] => {
    const own = values(section, name);
    return own.length > 0 ? own : values(session, name);
  };
  const iceUfrag = of("ice-ufrag")[0] ?? "";
  if (!TOKEN.test(iceUfrag)) throw new WhepRefusal(400, "The offer has no sound a=ice-ufrag.");
  const icePassword = of("ice-pwd")[0] ?? "";
  if (!ICE_PASSWORD.test(icePassword)) {
    throw new WhepRefusal(400, "The offer has no valid a=ice-pwd (22 to 256 letters, digits, + or /).");
  }
  const fingerprints = of("fingerprint").flatMap((text) => {
    const [, algorithm, value] = FINGERPRINT.exec(text.trim()) ?? [];
    return algorithm && value ? [{ algorithm: algorithm.toLowerCase(), value: value.toUpperCase() }] : [];
  });
  if (fingerprints.length === 0) throw new WhepRefusal(400, "The offer has no a=fingerprint by SHA-256, 384 or 512.");
  if (!["actpass", "active"].includes(of("setup")[0] ?? "actpass")) {
    throw new WhepRefusal(406, "The offer must leave it to us to wait for DTLS: a=setup:actpass.");
  }
  return {
    media,
    video,
    codecs,
    hasReducedSize: section.attributes.includes("rtcp-rsize"),
    iceUfrag,
    icePassword,
    fingerprints,
  };
}

/** The session's part first, then one for each `m=`. */
function split(sdp: string): Section[] {
  const lines = sdp.split(/\r?\n/);
  if (lines[0] !== "v=0") throw new WhepRefusal(400, "An SDP offer was expected; it begins with v=0.");
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
    throw new WhepRefusal(400, "Every section of the offer needs its m= line and an a=mid.");
  }
  return { kind, protocol, formats, mid };
}

const isWanted = ({ head, attributes }: Section): boolean =>
  !/^video 0 /.test(head) && !attributes.includes("sendonly") && !attributes.includes("inactive");

function readCodecs(section: Section): OfferedCodec[] {
  const ofType = (name: string, type: string) =>
    values(section, name).flatMap((text) => (text.startsWith(`${type} `) ? [text.slice(type.length + 1)] : []));
  return values(section, "rtpmap").flatMap((text) => {
    const [, type] = /^(\d{1,3}) H264\/90000$/i.exec(text) ?? [];
    if (type === undefined || Number(type) > 127) return [];
    const parameters = new Map(
      (ofType("fmtp", type)[0] ?? "").split(";").map((pair) => {
        const [name = "", value = ""] = pair.trim().split("=");
        return [name.toLowerCase(), value.toLowerCase()] as const;
      }),
    );
    if (parameters.get("packetization-mode") !== "1") return [];
    // RFC 6184: baseline at level 1 where nothing is said.
    const profileLevelId = parameters.get("profile-level-id") ?? "42000a";
    if (!/^[0-9a-f]{6}$/.test(profileLevelId)) return [];
    return [{ payloadType: Number(type), profileLevelId, feedback: ofType("rtcp-fb", type) }];
  });
}

/**
 * The payload type for pictures with this SPS: the same profile if it was offered, else one above it, which decodes it
 * too, else the first: browsers look at the SPS itself.
 */
export function chooseCodec(codecs: readonly OfferedCodec[], sps: Uint8Array): OfferedCodec {
  const ranks = [0x42, 0x4d, 0x64];
  const profileOf = (codec: OfferedCodec) => Number.parseInt(codec.profileLevelId.slice(0, 2), 16);
  const profile = sps[1] ?? 0x42;
  const above = codecs.filter((codec) => ranks.indexOf(profileOf(codec)) > ranks.indexOf(profile));
  const chosen = codecs.find((codec) => profileOf(codec) === profile) ?? above[0] ?? codecs[0];
  if (chosen === undefined) throw new WhepRefusal(406, "The offer has no H.264.");
  return chosen;
}
