/** Whole sessions as clients send them, and ways to spoil them. */

import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import type { VideoCodec } from "../../media/access-unit.ts";
import { CODECS } from "../../media/codecs.ts";
import { payloadAac } from "../../media/rtp/aac.ts";
import { payloadNals } from "../../media/rtp/nal-units.ts";
import { PAYLOAD_BYTES } from "../../media/rtp/packet.ts";
import { interleave, layOut, RtpSender, splitPackets } from "../../media/rtp/sender.ts";

/** By codec: parameter sets, and the headers of a keyframe's slice and of another. */
const VIDEOS = {
  h264: { sets: toBytes("Z0LADdkBQfsBEAAAAwAQAAADAyDxQqSA", "aMuDyyA="), key: [0x65], delta: [0x41] },
  h265: {
    sets: toBytes(
      ...["QAEMAf//AWAAAAMAkAAAAwAAAwA8lZQJ", "QgEBAWAAAAMAkAAAAwAAAwA8oAoIDxZZWVKTC8BaAgAAAwACAAADADIQ", "RAHAc8GJ"],
    ),
    key: [19 << 1, 1],
    delta: [1 << 1, 1],
  },
} as const;

function toBytes(...texts: readonly string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text, "base64"));
}

function ask(sequence: number, method: string, url: string, lines: readonly string[], body = ""): Buffer {
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return Buffer.from([`${method} ${url} RTSP/1.0`, `CSeq: ${sequence}`, ...lines, ...length, "", body].join("\r\n"));
}

/** Packets over UDP while the session is intact, by port of the track. */
export interface Datagram {
  readonly isRtcp: boolean;
  readonly bytes: Buffer;
}

/** For both tracks: pictures in one and several packets, audio, and reports. */
export function publisherDatagrams(codec: VideoCodec = "h264"): Datagram[] {
  const { sets, key, delta } = VIDEOS[codec];
  const [video, audio] = [new RtpSender(96, 90_000), new RtpSender(97, 44_100)];
  const pictures = [0, 1, 2, 3].flatMap((i) => {
    const slice = Buffer.alloc(3000, 0x11);
    slice.set(i === 0 ? key : delta);
    const nals = i === 0 ? [...sets, slice] : [slice];
    return [...splitPackets(video.write(layOut(payloadNals(CODECS[codec], nals, PAYLOAD_BYTES)), i * 40_000))];
  });
  const sounds = [300, 3000].flatMap((bytes, i) => [
    ...splitPackets(audio.write(layOut(payloadAac(new Uint8Array(bytes).fill(7), PAYLOAD_BYTES)), i * 20_000)),
  ]);
  const reports = [video.report(Date.now(), 0), audio.bye(Date.now(), 0)];
  return [
    ...[...pictures, ...sounds].map((bytes) => ({ isRtcp: false, bytes })),
    ...reports.map((bytes) => ({ isRtcp: true, bytes })),
  ];
}

/**
 * The pieces of a publisher's session. The id of a session cannot be known, so that it is left out where it may be.
 * `ports`: of a client by UDP, for each track; null: all over TCP, packets too.
 */
export function publisherSession(
  url: string,
  key: string,
  ports: readonly string[] | null = null,
  codec: VideoCodec = "h264",
): Buffer[] {
  const rights = [`Authorization: Basic ${Buffer.from(`any:${key}`).toString("base64")}`];
  const { encoding, writeFmtp } = CODECS[codec];
  const sdp = [
    ...["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=video 0 RTP/AVP 96", `a=rtpmap:96 ${encoding}/90000`],
    ...[`a=fmtp:96 ${writeFmtp(VIDEOS[codec].sets)}`, "a=control:streamid=0"],
    ...["m=audio 0 RTP/AVP 97", "a=rtpmap:97 mpeg4-generic/44100/2", "a=control:streamid=1"],
    ...["a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1210", ""],
  ].join("\r\n");
  const way = (track: number): string[] => [
    ports === null
      ? `Transport: RTP/AVP/TCP;unicast;interleaved=${track * 2}-${track * 2 + 1};mode=record`
      : `Transport: RTP/AVP;unicast;client_port=${ports[track]};mode=record`,
  ];
  const isSound = (bytes: Buffer): boolean => ((bytes[1] as number) & 0x7f) === 97;
  const packets = publisherDatagrams(codec).map(({ isRtcp, bytes }) =>
    interleave((isSound(bytes) ? 2 : 0) + (isRtcp ? 1 : 0), bytes),
  );
  return [
    ask(1, "OPTIONS", url, []),
    ask(2, "ANNOUNCE", url, [...rights, "Content-Type: application/sdp"], sdp),
    ask(3, "SETUP", `${url}/streamid=0`, way(0)),
    ask(4, "SETUP", `${url}/streamid=1`, way(1)),
    ask(5, "RECORD", url, ["Session: SESSION"]),
    ...(ports === null ? packets : []),
    ask(6, "TEARDOWN", url, ["Session: SESSION"]),
  ];
}

export function playerSession(url: string, key: string, ports: string | null = null): Buffer[] {
  const rights = [`Authorization: Basic ${Buffer.from(`any:${key}`).toString("base64")}`];
  const way = ports === null ? "RTP/AVP/TCP;unicast;interleaved=0-1" : `RTP/AVP;unicast;client_port=${ports}`;
  return [
    ask(1, "DESCRIBE", url, rights),
    ask(2, "SETUP", `${url}/trackID=0`, [...rights, `Transport: ${way}`]),
    ask(3, "PLAY", url, [...rights, "Session: SESSION", "Range: npt=0-"]),
    ...(ports === null ? [interleave(1, RECEIVER_REPORT)] : []),
    ask(4, "GET_PARAMETER", url, rights),
    ask(5, "TEARDOWN", url, ["Session: SESSION"]),
  ];
}

const RECEIVER_REPORT = Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 1]);
export const PLAYER_DATAGRAMS: readonly Datagram[] = [{ isRtcp: true, bytes: RECEIVER_REPORT }];

/** Valid and invalid client ports. */
export const clientPorts: fc.Arbitrary<string> = fc.constantFrom(
  ...["40000-40001", "40000-40001", "40000", "40000-0", "0-40000", "0", "1-1", "65535", "65534-65535", "40000-40001-2"],
);

export interface Conversation {
  /** Sent to the ports that the server answered with, before the last piece. */
  readonly datagrams?: readonly Datagram[];
  /** Stays so long before its last piece: until it has been looked after. */
  readonly lingerMs?: number;
}

/** For an answer: one that lingers is to get far. */
const QUICK_MS = 5;
const PATIENT_MS = 500;

/** Sends it piece by piece, each after the response to the previous one or a short wait, and returns all that was received. */
export async function converse(
  port: number,
  pieces: readonly Buffer[],
  { datagrams = [], lingerMs = 0 }: Conversation = {},
): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  let isClosed = false;
  let wake: () => void = () => {};
  socket.on("data", (chunk) => {
    chunks.push(chunk);
    wake();
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => {
      isClosed = true;
      wake();
      resolve();
    });
  });
  const received = (): string => Buffer.concat(chunks).toString("latin1");
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, ms);
    });
  let session = "none";
  for (const [i, piece] of pieces.entries()) {
    if (isClosed) break;
    if (i === pieces.length - 1 && lingerMs > 0) {
      await scatter(datagrams, received());
      await new Promise((resolve) => setTimeout(resolve, lingerMs));
    }
    const answered = pause(lingerMs > 0 ? PATIENT_MS : QUICK_MS);
    socket.write(Buffer.from(piece.toString("latin1").replace("SESSION", session), "latin1"));
    await answered;
    session = /\r\nSession: ([0-9a-f]+)/.exec(received())?.[1] ?? session;
  }
  socket.end();
  setTimeout(() => socket.destroy(), 20);
  await closed;
  return Buffer.concat(chunks);
}

/** To every pair of ports that was answered. */
async function scatter(datagrams: readonly Datagram[], answers: string): Promise<void> {
  const pairs = [...answers.matchAll(/server_port=(\d+)-(\d+)/g)];
  if (pairs.length === 0) return;
  const socket: UdpSocket = createSocket("udp4");
  socket.on("error", () => {});
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const sent = pairs.flatMap(([, rtp, rtcp]) =>
    datagrams.map(
      ({ isRtcp, bytes }) =>
        new Promise<void>((resolve) => {
          socket.send(bytes, Number(isRtcp ? rtcp : rtp), "127.0.0.1", () => resolve());
        }),
    ),
  );
  await Promise.all(sent);
  socket.close();
}

/** The same ways to spoil, for packets. */
export const spoilDatagrams = (spoil: Spoil, datagrams: readonly Datagram[]): Datagram[] =>
  [false, true].flatMap((isRtcp) =>
    spoil(datagrams.filter((one) => one.isRtcp === isRtcp).map(({ bytes }) => bytes)).map((bytes) => ({
      isRtcp,
      // Larger than a datagram: not sent.
      bytes: bytes.subarray(0, 60_000),
    })),
  );

const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const at = (bytes: Buffer, where: number): number => Math.floor(bytes.length * where);

export type Spoil = (pieces: readonly Buffer[]) => Buffer[];

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
