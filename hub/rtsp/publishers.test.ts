/**
 * Publishers by RTSP as users of media servers report them: each plays, or is rejected with a reason. Issues of MediaMTX are
 * named by their number, those of other projects by their name. docs/links.md lists what is accepted.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { codecOf, isParameterSet } from "../../media/codecs.ts";
import { payloadAac } from "../../media/rtp/aac.ts";
import { payloadNals } from "../../media/rtp/nal-units.ts";
import { joinPayload, writeRtpHeader } from "../../media/rtp/packet.ts";
import { writeSenderReport } from "../../media/rtp/rtcp.ts";
import { interleave } from "../../media/rtp/sender.ts";
import { until } from "../../test/watch.fixture.ts";
import { AAC_CONFIG_HEX, assertReceived, type ClipName, clip, type Expected } from "../publishers.fixture.ts";
import { KeepingReader } from "../reader.fixture.ts";
import { openServer } from "./rtsp.fixture.ts";
import { BASIC, Talk } from "./talk.fixture.ts";

interface Packet {
  readonly marker: boolean;
  readonly payloadType: number;
  readonly sequence: number;
  readonly timestamp: number;
  readonly payload: Uint8Array;
  readonly ssrc?: number;
}

const MAX_BYTES = 400;
const AUDIO_TYPE = 97;

/** As a publisher by the book sends it; with `sets`, keyframes have their parameter sets. */
function video(name: ClipName, { sets = true, sequence = 65_500, timestamp = 2 ** 32 - 50_000 } = {}): Packet[] {
  const { tracks, units } = clip(name);
  const codec = codecOf(tracks.video);
  let next = sequence;
  return units
    .filter(({ kind }) => kind === "video")
    .flatMap(({ ptsUs, parts }) => {
      const nals = sets ? parts : parts.filter((nal) => !isParameterSet(codec, nal));
      return payloadNals(codec, nals, MAX_BYTES).map((payload, i, all) => ({
        ...{ marker: i === all.length - 1, payloadType: 96, sequence: next++ % 2 ** 16 },
        ...{ timestamp: (timestamp + Math.round(ptsUs * 0.09)) % 2 ** 32, payload: joinPayload(payload) },
      }));
    });
}

function audio(name: ClipName): Packet[] {
  const frames = clip(name).units.filter(({ kind }) => kind === "audio");
  return frames.flatMap(({ ptsUs, parts }, i) =>
    payloadAac(parts[0] ?? assert.fail(), 1400).map((payload) => ({
      ...{ marker: true, payloadType: AUDIO_TYPE, sequence: i, timestamp: Math.round(ptsUs * 0.048) },
      payload: joinPayload(payload),
    })),
  );
}

function toBytes({ payload, ssrc = 7, ...header }: Packet): Buffer {
  const bytes = Buffer.alloc(12 + payload.length);
  writeRtpHeader(bytes, 0, { ...header, ssrc });
  bytes.set(payload, 12);
  return bytes;
}

interface Sdp {
  readonly name?: ClipName;
  readonly encoding?: string;
  readonly fmtp?: string;
  /** Of the video and the audio. Null: none. */
  readonly controls?: readonly (string | null)[];
  readonly head?: readonly string[];
  readonly lineEnd?: string;
  readonly hasAudio?: boolean;
}

function describe(given: Sdp = {}): string {
  const { encoding = "H264/90000", fmtp = "packetization-mode=1", lineEnd = "\r\n", hasAudio = false } = given;
  const { controls = ["streamid=0", "streamid=1"] } = given;
  const { head = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=-", "t=0 0"] } = given;
  const control = (i: number) => (controls[i] == null ? [] : [`a=control:${controls[i]}`]);
  const sound = [
    `m=audio 0 RTP/AVP ${AUDIO_TYPE}`,
    `a=rtpmap:${AUDIO_TYPE} mpeg4-generic/48000/2`,
    `a=fmtp:${AUDIO_TYPE} mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=${AAC_CONFIG_HEX}`,
    ...control(1),
  ];
  return [
    ...[...head, "m=video 0 RTP/AVP 96", `a=rtpmap:96 ${encoding}`, `a=fmtp:96 ${fmtp}`, ...control(0)],
    ...[...(hasAudio ? sound : []), ""],
  ].join(lineEnd);
}

const sprop = (name: ClipName): string =>
  `packetization-mode=1; sprop-parameter-sets=${clip(name)
    .tracks.video.sets.map((set) => Buffer.from(set).toString("base64"))
    .join(",")}`;

interface Case {
  readonly name: string;
  readonly sdp?: () => string;
  /** Of ANNOUNCE, after the path. */
  readonly announce?: string;
  /** After the path, and the header `Transport`, for each track. */
  readonly setUp?: readonly (readonly [track: string, transport: string])[];
  /** Without the header `Session`. */
  readonly isNameless?: boolean;
  readonly packets?: () => readonly Packet[];
  /** Frames of the connection: by default all packets in channel 0. */
  readonly frames?: () => readonly Uint8Array[];
  readonly expected: Expected | RegExp;
}

const PLAYS: Expected = { shows: ["plain"] };
const RECORD = "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record";
const inChannel = (channel: number, packets: readonly Packet[]) =>
  packets.map((packet) => interleave(channel, toBytes(packet)));

const events: Record<string, KeepingReader> = {};
const server = await openServer(
  { frozenMs: 1500, keylessMs: 2500 },
  {
    published({ path }) {
      const reader = new KeepingReader();
      events[path] = reader;
      server.streams.read(path, reader);
    },
  },
);
after(() => server.close());

/** Between two packets of the video. */
const REQUESTS = ["GET_PARAMETER", "OPTIONS", "SET_PARAMETER"].map((method, i) =>
  Buffer.from(`${method} rtsp://127.0.0.1/owner/x RTSP/1.0\r\nCSeq: ${50 + i}\r\n\r\n`),
);

/** A picture's first packet carries what Annex B has: start codes between NAL units. */
function inByteStream(): Packet[] {
  const { tracks, units } = clip("plain");
  const codec = codecOf(tracks.video);
  let sequence = 0;
  return units.flatMap(({ ptsUs, parts }) => {
    const stream = Buffer.concat(parts.flatMap((nal) => [Buffer.of(0, 0, 0, 1), nal]));
    return payloadNals(codec, [stream.subarray(parts.length > 1 ? 4 : 0)], MAX_BYTES).map((payload, i, all) => ({
      ...{ marker: i === all.length - 1, payloadType: 96, sequence: sequence++ },
      ...{ timestamp: Math.round(ptsUs * 0.09), payload: joinPayload(payload) },
    }));
  });
}

const isSets = ({ payload }: Packet): boolean => (payload[0] ?? 0) % 32 === 24;
/** Parameter sets with the timestamp of the picture before (retina 13, Reolink). */
const withEarlySets = (packets: readonly Packet[]): Packet[] =>
  packets.map((packet, i) =>
    isSets(packet) && i > 0 ? { ...packet, marker: true, timestamp: packets[i - 1]?.timestamp ?? 0 } : packet,
  );

/** Of the second picture from a keyframe: a packet in its middle. */
const lost = (): { readonly packets: Packet[]; readonly without: readonly number[] } => {
  const packets = video("plain");
  const at = packets.findIndex(({ payload }, i) => i > 3 && !isSets({ payload } as Packet) && (payload[1] ?? 0) < 64);
  const times = [...new Set(packets.map(({ timestamp }) => timestamp))];
  const picture = times.indexOf(packets[at]?.timestamp ?? 0);
  const next = Math.ceil((picture + 1) / 10) * 10;
  return {
    packets: packets.filter((_, i) => i !== at),
    without: Array.from({ length: next - picture }, (_, i) => picture + i),
  };
};

const CASES: readonly Case[] = [
  // Session descriptions.
  { name: "no parameter sets in the SDP", expected: PLAYS },
  {
    name: "parameter sets in the SDP only",
    ...{
      sdp: () => describe({ fmtp: sprop("plain") }),
      packets: () => video("plain", { sets: false }),
      expected: PLAYS,
    },
  },
  {
    name: "parameter sets of another stream in the SDP, the right ones in the stream",
    ...{ sdp: () => describe({ fmtp: sprop("large") }), expected: PLAYS },
  },
  {
    name: "parameter sets in the SDP that are cut off",
    sdp: () => describe({ fmtp: "packetization-mode=1;sprop-parameter-sets=Z0LA,;profile-level-id=zz" }),
    expected: PLAYS,
  },
  {
    name: "lines that are not of the standard (75, 948, 2128, 2708, 2762, 5033)",
    sdp: () =>
      describe({
        head: ["v=0", "o=Channel1 -8959200248001175080 3 IN IPV4", "s=", "c=IN ", "b=TIAS:1000", "t=", "a=x"],
        ...{ encoding: "h264/90000/1", fmtp: " packetization-mode = 1 ; ", lineEnd: "\n" },
      }),
    expected: PLAYS,
  },
  {
    name: "an absolute address of the track, with another host and a query",
    sdp: () => describe({ controls: ["rtsp://10.0.0.7:554/owner/case/video?api_key=k"] }),
    ...{ setUp: [["/video", RECORD]], expected: PLAYS },
  },
  {
    name: "the query before the name of the track (gortsplib 62)",
    ...{ announce: "?a=1&b=/2", setUp: [["?a=1&b=/2/streamid=0", RECORD]], expected: PLAYS },
  },
  {
    name: "a slash after the address, and two before the track (go2rtc 1236)",
    ...{ announce: "/", setUp: [["//streamid=0", RECORD]], expected: PLAYS },
  },
  {
    name: "two tracks without names",
    sdp: () => describe({ hasAudio: true, controls: [null, null] }),
    setUp: [
      ["/trackID=1", "RTP/AVP/TCP;unicast;interleaved=0-1"],
      ["/trackID=0", "RTP/AVP/TCP;unicast;interleaved=2-3"],
    ],
    frames: () => inChannel(2, video("plain")),
    expected: PLAYS,
  },
  {
    name: "another clock than 90000 Hz",
    sdp: () => describe({ encoding: "H264/1000" }),
    expected: /^415 expected a clock of 90000 Hz, the SDP has H.264\/1000$/,
  },
  {
    name: "interleaved packetization",
    sdp: () => describe({ fmtp: "packetization-mode=2" }),
    expected: /^415 packetization-mode=2 \(interleaved\) is not supported: set it to 1$/,
  },
  {
    name: "H.265 with decoding order numbers",
    sdp: () => describe({ encoding: "H265/90000", fmtp: "sprop-max-don-diff=2" }),
    expected: /^415 packets with decoding order numbers .* are not supported/,
  },
  {
    name: "motion JPEG",
    sdp: () => describe({ encoding: "JPEG/90000" }),
    expected: /^415 expected H.264 or H.265, received JPEG/,
  },
  {
    name: "audio only (402)",
    sdp: () => "v=0\r\nm=audio 0 RTP/AVP 0\r\n",
    expected: /^415 expected H.264 or H.265, the SDP has no video$/,
  },
  // Transport and session.
  { name: "no mode in SETUP", setUp: [["/streamid=0", "RTP/AVP/TCP;unicast;interleaved=0-1"]], expected: PLAYS },
  { name: "mode=receive", setUp: [["/streamid=0", 'RTP/AVP/TCP;interleaved=0-1;mode="RECEIVE"']], expected: PLAYS },
  { name: "no channels in SETUP (1650)", setUp: [["/streamid=0", "RTP/AVP/TCP;mode=record"]], expected: PLAYS },
  {
    name: "odd and swapped channels (1762)",
    setUp: [["/streamid=0", "RTP/AVP/TCP;interleaved=3-2;mode=record"]],
    ...{ frames: () => inChannel(3, video("plain")), expected: PLAYS },
  },
  {
    name: "the audio in the first channels, the video in the next (249)",
    sdp: () => describe({ hasAudio: true }),
    setUp: [
      ["/streamid=0", "RTP/AVP/TCP;interleaved=2-3;mode=record"],
      ["/streamid=1", "RTP/AVP/TCP;interleaved=0-1;mode=record"],
    ],
    frames: () => {
      const [first = [], second = []] = [inChannel(2, video("audio")), inChannel(0, audio("audio"))];
      const every = Math.floor(first.length / second.length);
      return first.flatMap((frame, i) => [frame, ...(i % every === every - 1 ? second.splice(0, 1) : [])]);
    },
    expected: { shows: ["audio"], hasAudio: true, stepMs: null },
  },
  { name: "no session in RECORD", isNameless: true, expected: PLAYS },
  {
    name: "keep-alive requests without a session between packets",
    frames: () => inChannel(0, video("plain")).flatMap((frame, i) => [frame, ...(i === 9 ? REQUESTS : [])]),
    expected: PLAYS,
  },
  {
    name: "packets in channels that were not set up, before the video (351)",
    ...{ frames: () => [...inChannel(97, video("large")), ...inChannel(0, video("plain"))], expected: PLAYS },
  },
  {
    name: "encrypted RTP",
    ...{
      setUp: [["/streamid=0", "RTP/SAVP/TCP;interleaved=0-1;mode=record"]],
      expected: /^461 expected RTP\/AVP\/TCP/,
    },
  },
  // RTP and RTCP.
  { name: "timestamps that wrap, and no RTCP", expected: PLAYS },
  {
    name: "sender reports of 1970, and on the channel of the video",
    frames: () => {
      const report = writeSenderReport({ ssrc: 7, unixMs: 5000, timestamp: 9, packets: 1, bytes: 1 });
      return [interleave(1, report), interleave(0, report), ...inChannel(0, video("plain"))];
    },
    expected: PLAYS,
  },
  {
    name: "no markers (3945, FLIR M400)",
    packets: () => video("plain").map((packet) => ({ ...packet, marker: false })),
    // The last picture has not ended.
    expected: { shows: ["plain"], without: [24] },
  },
  {
    name: "parameter sets with the time of the picture before",
    packets: () => withEarlySets(video("plain")),
    expected: PLAYS,
  },
  { name: "start codes in packets (retina 68, V380; gortsplib 199)", packets: inByteStream, expected: PLAYS },
  {
    name: "padding in aggregates",
    packets: () =>
      video("plain").map((packet) =>
        isSets(packet) ? { ...packet, payload: Buffer.concat([packet.payload, Buffer.alloc(20)]) } : packet,
      ),
    expected: PLAYS,
  },
  {
    name: "fragments that are first and last (gortsplib 649)",
    packets: () =>
      video("plain").map(({ payload, ...packet }) => {
        const [first = 0] = payload;
        const isSingle = first % 32 === 1 || first % 32 === 5;
        const head = Buffer.of((first & 0xe0) | 28, 0xc0 | (first % 32));
        return { ...packet, payload: isSingle ? Buffer.concat([head, payload.subarray(1)]) : payload };
      }),
    expected: PLAYS,
  },
  {
    name: "sequence numbers that stand still",
    ...{ packets: () => video("plain").map((packet) => ({ ...packet, sequence: 5 })), expected: PLAYS },
  },
  {
    name: "an encoder that starts again in the session: another source, numbers and parameter sets",
    packets: () => [
      ...video("plain"),
      ...video("large", { sequence: 9, timestamp: 5 }).map((packet) => ({ ...packet, ssrc: 8 })),
    ],
    expected: { shows: ["plain", "large"], stepMs: null },
  },
  {
    name: "a lost fragment",
    ...{ packets: () => lost().packets, expected: { shows: ["plain"], without: lost().without, stepMs: null } },
  },
  {
    name: "another payload type than announced",
    packets: () => [...video("plain"), ...video("large")].map((packet) => ({ ...packet, payloadType: 33 })),
    expected: /expected RTP packets of payload type 96, as announced, received 33/,
  },
  {
    name: "no parameter sets at all",
    ...{
      packets: () => video("plain", { sets: false }),
      expected: /no video received for|no keyframe with parameter sets/,
    },
  },
  // Forms of video.
  { name: "B-frames", packets: () => video("bFrames"), expected: { shows: ["bFrames"], stepMs: null } },
  { name: "H.264 with 10 bits", packets: () => video("tenBits"), expected: { shows: ["tenBits"] } },
  { name: "interlaced video", packets: () => video("interlaced"), expected: { shows: ["interlaced"] } },
  {
    name: "H.265 with 10 bits",
    sdp: () => describe({ encoding: "H265/90000", fmtp: "profile-id=2" }),
    ...{ packets: () => video("h265"), expected: { shows: ["h265"], stepMs: null } },
  },
];

/** Returns the first response that is not 200. */
async function start(client: Talk, path: string, one: Case): Promise<string | null> {
  const { sdp = describe, announce = "", setUp = [["/streamid=0", RECORD]], isNameless = false } = one;
  const url = server.url(path, null);
  const address = `${url}${announce}`;
  const requests = [
    () => client.say("ANNOUNCE", address, BASIC, sdp().replace("/owner/case", `/${path}`)),
    ...setUp.map(
      ([track, transport]) =>
        () =>
          client.say("SETUP", `${url}${track}`, { Transport: transport }),
    ),
    () => {
      if (isNameless) client.session = null;
      return client.say("RECORD", address);
    },
  ];
  for (const send of requests) {
    const answer = await send();
    if (answer !== "200 OK") return answer;
  }
  return null;
}

async function publish(client: Talk, path: string, one: Case): Promise<void> {
  const { packets = () => video("plain"), frames = () => inChannel(0, packets()), expected } = one;
  delete events[path];
  const rejected = await start(client, path, one);
  if (rejected === null) client.socket.write(Buffer.concat(frames()));
  if (expected instanceof RegExp) {
    if (rejected === null) await client.closed;
    const reasons = [...(rejected === null ? [] : [rejected]), ...server.logged.filter((line) => line.includes(path))];
    assert.ok(
      reasons.some((reason) => expected.test(reason)),
      reasons.join("\n"),
    );
    return;
  }
  assert.equal(rejected, null);
  const count = expected.shows.reduce((sum, name) => sum + clip(name).pictures, 0) - (expected.without?.length ?? 0);
  const pictures = () => events[path]?.units.filter(({ unit }) => unit.kind === "video").length ?? 0;
  await until(() => pictures() >= count);
  const { tracks, units } = events[path] as KeepingReader;
  assertReceived({ tracks, units: units.map(({ unit }) => unit) }, expected);
}

for (const [i, one] of CASES.entries())
  test(`RTSP: ${one.name}`, async () => {
    const client = await Talk.open(server.port);
    await publish(client, `owner/case-${i}`, one);
    client.socket.destroy();
    assert.deepEqual(server.faults, []);
  });

test("RTSP: a publisher that returns with another SPS, on the same connection and on another one", async () => {
  const client = await Talk.open(server.port);
  const url = server.url("owner/returns", null);
  for (const name of ["plain", "large"] as const) {
    await publish(client, "owner/returns", { name, packets: () => video(name), expected: { shows: [name] } });
    assert.equal(await client.say("TEARDOWN", url), "200 OK");
    client.session = null;
  }
  const other = await Talk.open(server.port);
  await publish(other, "owner/returns", {
    name: "",
    packets: () => video("portrait"),
    expected: { shows: ["portrait"] },
  });
  client.socket.destroy();
  other.socket.destroy();
});
