/** H.265 as a `Codec`: NAL units, parameter sets, SDP, RTP (RFC 7798, without decoding order numbers). */
import type { Codec, NalKind } from "../codec.ts";
import { HEADER_BYTES, isBaseLayer, isKeyType, isSliceType, NAL, nalType, readPpsId } from "./nal.ts";
import { codecName, readHevcConfig, readSet, writeHevcConfig } from "./sps.ts";

const KINDS: Readonly<Record<number, NalKind>> = {
  [NAL.vps]: "vps",
  [NAL.sps]: "sps",
  [NAL.pps]: "pps",
  [NAL.prefixSei]: "sei",
  [NAL.suffixSei]: "sei",
};
const SPROP = ["sprop-vps", "sprop-sps", "sprop-pps"] as const;
const AGGREGATE = 48;
const FRAGMENT = 49;

export const H265: Codec = {
  name: "h265",
  title: "H.265",
  encoding: "H265",
  fourCc: "hvc1",
  configBox: "hvcC",
  setKinds: ["vps", "sps", "pps"],
  kindOf(nal) {
    if (!isBaseLayer(nal)) return "other";
    const type = nalType(nal);
    return isSliceType(type) ? "slice" : (KINDS[type] ?? "other");
  },
  // Recovery points without such a picture are not listed: decoders do not start there.
  startsDecoding: (nal) => isKeyType(nalType(nal)) && isBaseLayer(nal),
  isUndecodableAfterJoin: (slice) => nalType(slice) === NAL.raslN || nalType(slice) === NAL.raslR,
  // B slices say nothing: encoders without reordering use them, too. But every SPS states the depth.
  mayReorder: (slice, reorderFrames) => reorderFrames !== 0 && !isKeyType(nalType(slice)),
  readSet,
  readPpsId,
  readConfig: readHevcConfig,
  writeConfig: writeHevcConfig,
  describe: (sets) => codecName(sets.find((nal) => nalType(nal) === NAL.sps) ?? new Uint8Array(0)),
  readSprop: (parameters) =>
    SPROP.flatMap((name) => (parameters.get(name) ?? "").split(",").map((text) => Buffer.from(text, "base64"))),
  writeFmtp: (sets) => sets.map((nal, i) => `${SPROP[i]}=${Buffer.from(nal).toString("base64")}`).join(";"),
  findUnsupported: (parameters) =>
    Number(parameters.get("sprop-max-don-diff") ?? 0) > 0
      ? "packets with decoding order numbers (sprop-max-don-diff) are not supported: set it to 0"
      : null,
  rtp: {
    headerBytes: HEADER_BYTES,
    aggregate: AGGREGATE,
    fragment: FRAGMENT,
    lastSingle: AGGREGATE - 1,
    typeOf: nalType,
    startsPicture: (nal) => [NAL.vps, NAL.sps, NAL.delimiter].some((type) => type === nalType(nal)),
    writeAggregateHeader(nals) {
      // 4.4.2: the F bit of any, the lowest layer and the lowest temporal id.
      const forbidden = nals.reduce((bits, [first = 0]) => bits | (first & 0x80), 0);
      const layer = Math.min(...nals.map(([first = 0, second = 0]) => ((first & 1) << 5) | (second >> 3)));
      const temporal = Math.min(...nals.map(([, second = 1]) => second & 7));
      return Uint8Array.of(forbidden | (AGGREGATE << 1) | (layer >> 5), ((layer & 0x1f) << 3) | temporal);
    },
    writeFragmentHeader: (nal, flags) =>
      Uint8Array.of(((nal[0] ?? 0) & 0x81) | (FRAGMENT << 1), nal[1] ?? 0, flags | nalType(nal)),
    readFragmentHeader: ([first = 0, second = 0, header = 0]) =>
      Uint8Array.of((first & 0x81) | ((header & 0x3f) << 1), second),
  },
};
