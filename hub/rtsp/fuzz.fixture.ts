/** Whole sessions as clients send them, and ways to spoil them. */
import fc from "fast-check";
import { packetise } from "../../media/rtp/h264-payload.ts";
import { PAYLOAD_BYTES } from "../../media/rtp/payload.ts";
import { frame, RtpSender } from "../../media/rtp/sender.ts";

const SETS = ["Z0LADdkBQfsBEAAAAwAQAAADAyDxQqSA", "aMuDyyA="].map((text) => Buffer.from(text, "base64"));

function ask(sequence: number, method: string, url: string, lines: readonly string[], body = ""): Buffer {
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return Buffer.from([`${method} ${url} RTSP/1.0`, `CSeq: ${sequence}`, ...lines, ...length, "", body].join("\r\n"));
}

/** The pieces of a publisher's session. The id of a session cannot be known, so that it is left out where it may be. */
export function publisherSession(url: string, key: string): Buffer[] {
  const rights = [`Authorization: Basic ${Buffer.from(`any:${key}`).toString("base64")}`];
  const sprop = SETS.map((set) => set.toString("base64")).join(",");
  const sdp = [
    ...["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000"],
    ...[`a=fmtp:96 packetization-mode=1;sprop-parameter-sets=${sprop}`, "a=control:streamid=0"],
    ...["m=audio 0 RTP/AVP 97", "a=rtpmap:97 mpeg4-generic/44100/2", "a=control:streamid=1"],
    ...["a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1210", ""],
  ].join("\r\n");
  const sender = new RtpSender(96, 90_000);
  const pictures = Array.from({ length: 4 }, (_, i) => {
    const slice = Buffer.alloc(3000, 0x11);
    slice[0] = i === 0 ? 0x65 : 0x41;
    return Buffer.concat(sender.write(packetise(i === 0 ? [...SETS, slice] : [slice], PAYLOAD_BYTES), i * 40_000, 0));
  });
  return [
    ask(1, "OPTIONS", url, []),
    ask(2, "ANNOUNCE", url, [...rights, "Content-Type: application/sdp"], sdp),
    ask(3, "SETUP", `${url}/streamid=0`, ["Transport: RTP/AVP/TCP;unicast;interleaved=0-1;mode=record"]),
    ask(4, "SETUP", `${url}/streamid=1`, ["Transport: RTP/AVP;unicast;client_port=40000-40001;mode=record"]),
    ask(5, "RECORD", url, ["Session: SESSION"]),
    frame(1, sender.report(Date.now(), 0)),
    ...pictures,
    ask(6, "TEARDOWN", url, ["Session: SESSION"]),
  ];
}

export function playerSession(url: string, key: string): Buffer[] {
  const rights = [`Authorization: Basic ${Buffer.from(`any:${key}`).toString("base64")}`];
  return [
    ask(1, "DESCRIBE", url, rights),
    ask(2, "SETUP", `${url}/trackID=0`, [...rights, "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"]),
    ask(3, "PLAY", url, [...rights, "Session: SESSION", "Range: npt=0-"]),
    frame(1, Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 1])),
    ask(4, "GET_PARAMETER", url, rights),
    ask(5, "TEARDOWN", url, ["Session: SESSION"]),
  ];
}

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const at = (bytes: Buffer, where: number): number => Math.floor(bytes.length * where);

type Spoil = (pieces: readonly Buffer[]) => Buffer[];

/** Works on the pieces first and on their bytes then, so that many stay as they were and get far. */
export const spoiling: fc.Arbitrary<Spoil> = fc
  .array(
    fc.oneof(
      fc.tuple(fc.constant("drop" as const), place, place, fc.nat()),
      fc.tuple(fc.constant("double" as const), place, place, fc.nat()),
      fc.tuple(fc.constant("swap" as const), place, place, fc.nat()),
      fc.tuple(fc.constant("flip" as const), place, place, fc.nat(255)),
      fc.tuple(fc.constant("insert" as const), place, place, fc.nat(255)),
      fc.tuple(fc.constant("cut" as const), place, place, fc.nat()),
      fc.tuple(fc.constant("grow" as const), place, place, fc.nat(20_000)),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((steps) => (pieces) => {
    const out = [...pieces];
    for (const [how, which, where, value] of steps) {
      const i = Math.floor(out.length * which);
      const piece = out[i] ?? Buffer.alloc(0);
      const byte = at(piece, where);
      if (how === "drop") out.splice(i, 1);
      if (how === "double") out.splice(i, 0, piece);
      if (how === "swap") out.splice(at(Buffer.alloc(out.length), where), 0, ...out.splice(i, 1));
      if (how === "flip") out[i] = replace(piece, byte, 1, Buffer.from([value]));
      if (how === "insert") out[i] = replace(piece, byte, 0, Buffer.from([value, value ^ 0x24]));
      if (how === "cut") out[i] = piece.subarray(0, byte);
      if (how === "grow") out[i] = replace(piece, byte, 0, Buffer.alloc(value, piece[byte] ?? 0x41));
    }
    return out;
  });

const replace = (bytes: Buffer, from: number, count: number, by: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(from + count)]);
