/** H.264 as a `Codec`: NAL units, parameter sets, SDP, RTP (RFC 6184). */
import { MediaError } from "../access-unit.ts";
import type { Codec, NalKind } from "../codec.ts";
import { hasRecoveryPoint, isBidirectional, isSlice, NAL, nalType, readLeadingNumbers } from "./nal.ts";
import { codecName, readAvcConfig, readSps, writeAvcConfig } from "./sps.ts";

const KINDS: Readonly<Record<number, NalKind>> = { [NAL.sps]: "sps", [NAL.pps]: "pps", [NAL.sei]: "sei" };
const STAP_A = 24;
const FU_A = 28;
const LAST_SINGLE = 23;

export const H264: Codec = {
  name: "h264",
  title: "H.264",
  encoding: "H264",
  fourCc: "avc1",
  configBox: "avcC",
  setKinds: ["sps", "pps"],
  kindOf(nal) {
    const type = nalType(nal);
    return isSlice(type) ? "slice" : (KINDS[type] ?? "other");
  },
  startsDecoding(nal) {
    const type = nalType(nal);
    return type === NAL.idr || (type === NAL.sei && hasRecoveryPoint(nal));
  },
  isUndecodableAfterJoin: () => false,
  mayReorder: (slice) => isBidirectional(slice),
  readSet(nal) {
    if (nalType(nal) !== NAL.pps) {
      const picture = readSps(nal);
      // The id follows profile, constraints and level.
      const [id = 0] = readLeadingNumbers(nal.subarray(3), 1) ?? [];
      return { kind: "sps", id, refersTo: null, picture };
    }
    const [id, refersTo] = readLeadingNumbers(nal, 2) ?? [];
    if (id === undefined || refersTo === undefined) throw new MediaError("the PPS is truncated");
    return { kind: "pps", id, refersTo, picture: null };
  },
  readPpsId: (slice) => readLeadingNumbers(slice, 3)?.[2] ?? null,
  readConfig: readAvcConfig,
  writeConfig: ([sps = new Uint8Array(0), pps = new Uint8Array(0)]) => writeAvcConfig(sps, pps),
  describe: ([sps = new Uint8Array(0)]) => codecName(sps),
  readSprop: (parameters) =>
    (parameters.get("sprop-parameter-sets") ?? "").split(",").map((text) => Buffer.from(text, "base64")),
  writeFmtp(sets) {
    const [sps = new Uint8Array(0)] = sets;
    const profile = Buffer.from(sps.subarray(1, 4)).toString("hex");
    const base64 = sets.map((nal) => Buffer.from(nal).toString("base64")).join(",");
    return `packetization-mode=1;profile-level-id=${profile};sprop-parameter-sets=${base64}`;
  },
  findUnsupported: (parameters) =>
    parameters.get("packetization-mode") === "2"
      ? "packetization-mode=2 (interleaved) is not supported: set it to 1"
      : null,
  rtp: {
    headerBytes: 1,
    aggregate: STAP_A,
    fragment: FU_A,
    lastSingle: LAST_SINGLE,
    typeOf: nalType,
    startsPicture: (nal) => nalType(nal) === NAL.sps || nalType(nal) === NAL.delimiter,
    writeAggregateHeader(nals) {
      // 5.7.1: the F bit of any, and the highest NRI.
      let importance = 0;
      let forbidden = 0;
      for (const [header = 0] of nals) {
        importance = Math.max(importance, header & 0x60);
        forbidden |= header & 0x80;
      }
      return Uint8Array.of(forbidden | importance | STAP_A);
    },
    writeFragmentHeader: ([header = 0], flags) => Uint8Array.of((header & 0xe0) | FU_A, flags | (header & 0x1f)),
    readFragmentHeader: ([indicator = 0, header = 0]) => Uint8Array.of((indicator & 0xe0) | (header & 0x1f)),
  },
};
