/**
 * Publishers by RTMP as users of media servers report them: each plays, or is rejected with a reason. Issues of MediaMTX are
 * named by their number, those of other projects by their name. docs/links.md lists what is accepted.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { test } from "node:test";
import { type AmfObject, writeAmf } from "../../media/rtmp/amf0.ts";
import { writeChunks } from "../../media/rtmp/chunks.ts";
import { CHUNK_STREAM, MESSAGE, makeCommand, makeControl, type OutgoingMessage } from "../../media/rtmp/message.ts";
import { assertReceived, type ClipName, clip, type Expected } from "../publishers.fixture.ts";
import { RawClient, type Tag } from "./raw-client.fixture.ts";
import { KEY, openSocket, TestIngest } from "./rtmp.fixture.ts";
import { audioTag, configTag, isVideo, shiftTags, tagsOf, toByteStream, undelayed, videoTag } from "./tags.fixture.ts";

const ingest = await TestIngest.open();
/** For publishers that are rejected because of what they do not send. */
const hasty = await TestIngest.open({ helloMs: 400, frozenMs: 400, keylessMs: 900 });

const tags = (name: ClipName, keepsSets = false): Tag[] => tagsOf(clip(name), keepsSets);
const config = (name: ClipName): Tag => configTag(clip(name));

/** With another timestamp, by the number of the picture. */
const retime = (all: readonly Tag[], timeOf: (i: number) => number): Tag[] => {
  let i = -1;
  return all.map((tag) => ({ ...tag, timestamp: timeOf(Math.max(isVideo(tag) && tag.body[1] !== 0 ? ++i : i, 0)) }));
};

/** One message with several tags, as Flash Media Live Encoder and Wirecast send them. */
function aggregate(all: readonly Tag[]): Tag {
  const [first] = all;
  const pieces = all.map(({ type, timestamp, body }) => {
    const head = Buffer.alloc(11);
    head[0] = type;
    head.writeUIntBE(body.length, 1, 3);
    head.writeUIntBE((timestamp + 777) % 2 ** 24, 4, 3);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(11 + body.length);
    return Buffer.concat([head, body, size]);
  });
  return { type: MESSAGE.aggregate, timestamp: first?.timestamp ?? 0, body: Buffer.concat(pieces) };
}

const HANDSHAKE = { version: 3, hello: Buffer.alloc(1536), echo: Buffer.alloc(1536) };

interface Way {
  /** What the client sends first. */
  readonly handshake?: Partial<typeof HANDSHAKE>;
  /** Everything in one packet, before any answer. */
  readonly isEager?: boolean;
  readonly chunkSize?: number;
  /** Changes the chunks of a message. */
  readonly toChunks?: (message: OutgoingMessage, chunkSize: number) => readonly Uint8Array[];
  readonly controlStream?: number;
  /** Stays connected after the last tag. */
  readonly isSilent?: boolean;
  /** Between publish and the first tag. */
  readonly metadata?: Uint8Array;
}

interface Case extends Way {
  readonly name: string;
  readonly tags: () => readonly Tag[];
  /** Or why it is rejected. */
  readonly expected: Expected | RegExp;
  /** On a hub with short time limits. */
  readonly isHasty?: boolean;
}

/** Publishes these tags, and ends unless it is silent. */
async function publish(port: number, path: string, all: readonly Tag[], way: Way): Promise<RawClient> {
  const { version, hello, echo } = { ...HANDSHAKE, ...way.handshake };
  const { chunkSize = 4096, toChunks = writeChunks, controlStream = CHUNK_STREAM.control } = way;
  const client = RawClient.over(await openSocket(port));
  const messages: OutgoingMessage[] = [
    { ...makeControl(MESSAGE.setChunkSize, chunkSize), chunkStream: controlStream },
    makeCommand(0, "connect", 1, { app: "user" }),
    makeCommand(0, "createStream", 2, null),
    makeCommand(0, "publish", 3, null, `${path.split("/")[1]}?api_key=${KEY}`, "live"),
  ];
  const media = all.map(
    ({ type, timestamp, body }): OutgoingMessage => ({
      ...{ chunkStream: type === MESSAGE.audio ? 4 : 6, type, streamId: 1, timestamp, body },
    }),
  );
  if (way.metadata !== undefined)
    media.unshift({ chunkStream: 5, type: MESSAGE.data, streamId: 1, timestamp: 0, body: way.metadata });
  const last = makeCommand(0, "deleteStream", 4, null, 1);
  // The size applies after its own message.
  const bytes = [...messages, ...media, ...(way.isSilent ? [] : [last])].map((message, i) =>
    Buffer.concat(toChunks(message, i === 0 ? 128 : chunkSize)),
  );
  const first = Buffer.concat([Buffer.of(version), hello]);
  if (way.isEager) client.socket.write(Buffer.concat([first, echo, ...bytes]));
  else {
    client.socket.write(first);
    await Promise.race([client.closed, received(client.socket)]);
    for (const piece of [echo, ...bytes]) client.socket.write(piece);
  }
  return client;
}

const received = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("data", () => resolve()));

const onMetaData = (values: AmfObject): Uint8Array => writeAmf("@setDataFrame", "onMetaData", values);

/** Without the extended time that continuation chunks repeat. */
const omitExtendedTime: Way["toChunks"] = (message, chunkSize) =>
  writeChunks(message, chunkSize).map((piece, i) => (i > 1 && piece.length === 5 ? piece.subarray(0, 1) : piece));

const PLAYS: Expected = { shows: ["plain"] };
const NEAR_WRAP = 2 ** 32 - 500;
const emptyNal = Buffer.alloc(4);

const CASES: readonly Case[] = [
  // Handshakes and chunks.
  {
    name: "a handshake with a digest, whose answer is not the echo (Flash, librtmp)",
    ...{ tags: () => tags("plain"), expected: PLAYS },
    handshake: {
      hello: Buffer.concat([Buffer.of(0, 0, 0, 0, 128, 0, 7, 2), randomBytes(1528)]),
      echo: randomBytes(1536),
    },
  },
  { name: "a handshake of version 5", handshake: { version: 5 }, tags: () => tags("plain"), expected: PLAYS },
  { name: "everything in one packet, before any answer", isEager: true, tags: () => tags("plain"), expected: PLAYS },
  { name: "RTMPE", handshake: { version: 6 }, tags: () => [], expected: /RTMPE is not supported: use RTMPS/ },
  { name: "TLS on the port for RTMP", handshake: { version: 22 }, tags: () => [], expected: /RTMPS has another port/ },
  {
    name: "half of the last part of the handshake",
    ...{ handshake: { echo: Buffer.alloc(700) }, tags: () => [], isHasty: true },
    expected: /the handshake was not complete within 0.4 s: \d+ bytes are missing/,
  },
  { name: "chunks of 128 bytes", chunkSize: 128, tags: () => tags("plain"), expected: PLAYS },
  {
    name: "control messages in another chunk stream (4807)",
    controlStream: 4,
    tags: () => tags("plain"),
    expected: PLAYS,
  },
  {
    name: "continuation chunks without the extended time (OBS 10097)",
    ...{ chunkSize: 128, toChunks: omitExtendedTime, expected: PLAYS },
    tags: () => shiftTags(tags("plain"), 2 ** 24 + 5),
  },
  {
    name: "aggregate messages",
    tags: () => [config("plain"), ...[0, 10, 20].map((at) => aggregate(tags("plain").slice(1 + at, 11 + at)))],
    expected: PLAYS,
  },
  // Metadata.
  { name: "no metadata (386)", tags: () => tags("plain"), expected: PLAYS },
  {
    name: "metadata without tracks (3301, DJI FlightHub)",
    ...{ metadata: onMetaData({ encoder: "Agora.io Encoder" }), tags: () => tags("plain"), expected: PLAYS },
  },
  {
    name: "metadata of another size and codec, and very long",
    metadata: onMetaData({ width: 9999, height: -1, videocodecid: 2, note: "x".repeat(60_000) }),
    ...{ tags: () => tags("plain"), expected: PLAYS },
  },
  // Timestamps.
  {
    name: "timestamps that begin near 2^32 and wrap",
    tags: () => shiftTags(tags("audio"), NEAR_WRAP),
    expected: { shows: ["audio"], hasAudio: true },
  },
  { name: "timestamps that begin above 2^31", tags: () => shiftTags(tags("plain"), 2 ** 31 + 9), expected: PLAYS },
  { name: "no timestamps", tags: () => retime(tags("plain"), () => 0), expected: { ...PLAYS, stepMs: null } },
  {
    name: "timestamps in nanoseconds (OvenMediaEngine 516)",
    ...{ tags: () => retime(tags("plain"), (i) => (i * 40_000_000) % 2 ** 32), expected: { ...PLAYS, stepMs: null } },
  },
  {
    name: "decoding times that go back (go2rtc 1969, DJI)",
    tags: () => retime(tags("plain"), (i) => i * 40 - (i % 5 === 3 ? 70 : 0)),
    expected: { ...PLAYS, stepMs: null },
  },
  {
    name: "a clock that is set back by an hour",
    ...{ tags: () => retime(tags("plain"), (i) => i * 40 + (i < 12 ? 3_600_000 : 0)), expected: PLAYS },
  },
  {
    name: "pictures displayed before they are decoded (HaishinKit 793)",
    tags: () => undelayed(clip("bFrames"), 40),
    expected: { shows: ["bFrames"], stepMs: null },
  },
  { name: "B-frames", tags: () => tags("bFrames"), expected: { shows: ["bFrames"] } },
  // Tracks.
  {
    name: "audio only for the first seconds",
    tags: () => [
      ...tags("audio").filter((tag) => !isVideo(tag)),
      ...shiftTags(tags("audio"), 2000).filter((tag) => isVideo(tag) || tag.body[1] === 1),
    ],
    expected: { shows: ["audio"], hasAudio: true },
  },
  {
    name: "audio and never video",
    ...{ tags: () => tags("audio").filter((tag) => !isVideo(tag)), isHasty: true },
    expected: /no video received for 0.4 s/,
  },
  {
    name: "audio that is announced and never sent (go2rtc 1969, DJI)",
    ...{ tags: () => tags("audio").filter((tag) => isVideo(tag) || tag.body[1] === 0), expected: { shows: ["audio"] } },
  },
  {
    name: "audio of a private codec (2564, DJI Mini 4 Pro)",
    ...{ tags: () => [audioTag(0, Buffer.of(0xff, 0, 1)), ...tags("plain")], expected: PLAYS },
  },
  {
    name: "empty messages and empty NAL units (2375, 3414, DJI)",
    tags: () => [
      ...[audioTag(0, Buffer.of()), audioTag(0, Buffer.of(0xaf, 0)), videoTag(0, Buffer.of())],
      ...tags("plain").map((tag) => (tag.body[1] === 1 ? { ...tag, body: Buffer.concat([tag.body, emptyNal]) } : tag)),
      videoTag(960, Buffer.of(0x17, 2)),
    ],
    expected: PLAYS,
  },
  // Parameter sets.
  {
    name: "a configuration before every keyframe (3802)",
    tags: () => tags("plain").flatMap((tag, i) => (i > 0 && tag.body[0] === 0x17 ? [config("plain"), tag] : [tag])),
    expected: PLAYS,
  },
  {
    name: "no configuration, but parameter sets in keyframes",
    tags: () => tags("plain", true).slice(1),
    expected: PLAYS,
  },
  {
    name: "an empty configuration, and parameter sets in keyframes",
    ...{ tags: () => [videoTag(0, Buffer.of(0x17, 0, 0, 0, 0)), ...tags("plain", true).slice(1)], expected: PLAYS },
  },
  { name: "start codes instead of lengths", tags: () => tags("plain").map(toByteStream), expected: PLAYS },
  {
    name: "neither a configuration nor parameter sets",
    ...{ tags: () => tags("plain").slice(1), isHasty: true },
    expected: /no keyframe with parameter sets received|no video received/,
  },
  // Changes, and forms of video.
  {
    name: "a change of the resolution",
    ...{ tags: () => [...tags("plain"), ...shiftTags(tags("large"), 1000)], expected: { shows: ["plain", "large"] } },
  },
  {
    name: "a telephone that is turned to portrait and back (nginx-rtmp 976)",
    tags: () => [...tags("plain"), ...shiftTags(tags("portrait"), 1000), ...shiftTags(tags("plain"), 2000)],
    expected: { shows: ["plain", "portrait", "plain"] },
  },
  { name: "H.264 with 10 bits", tags: () => tags("tenBits"), expected: { shows: ["tenBits"] } },
  { name: "interlaced video", tags: () => tags("interlaced"), expected: { shows: ["interlaced"] } },
  { name: "H.265 with 10 bits, by name", tags: () => tags("h265"), expected: { shows: ["h265"], stepMs: null } },
  {
    name: "Sorenson H.263 (1102)",
    tags: () => [videoTag(0, Buffer.of(0x12, 0, 0, 0, 0))],
    expected: /expected H.264 or H.265, received Sorenson H.263: set the encoder to one of them/,
  },
  {
    name: "AV1",
    tags: () => [videoTag(0, Buffer.concat([Buffer.of(0x90), Buffer.from("av01")]))],
    expected: /expected H.264 or H.265, received AV1/,
  },
];

for (const [i, { name, tags: list, expected, isHasty = false, ...way }] of CASES.entries())
  test(`RTMP: ${name}`, async () => {
    const hub = isHasty ? hasty : ingest;
    const path = `user/case-${i}`;
    const said = hub.said.length;
    const client = await publish(hub.port, path, list(), { ...way, isSilent: isHasty });
    if (expected instanceof RegExp) {
      await client.closed;
      const reasons = [...client.statuses().map(([, text]) => String(text)), ...hub.said.slice(said)];
      assert.ok(
        reasons.some((reason) => expected.test(reason)),
        reasons.join("\n"),
      );
    } else assertReceived(await hub.finished(path), expected);
    client.socket.destroy();
  });

test("RTMP: a publisher that returns with another SPS is a new publication at the same address", async () => {
  for (const name of ["plain", "large"] as const) {
    ingest.taken.length = 0;
    const client = await publish(ingest.port, "user/returns", tags(name), {});
    assertReceived(await ingest.finished("user/returns"), { shows: [name] });
    client.socket.destroy();
  }
});

test("RTMP: the hub answers any handshake as the simple one, which repeats what the client sent", async () => {
  const hello = randomBytes(1536);
  const { socket, received: all } = await openSocket(ingest.port);
  socket.write(Buffer.concat([Buffer.of(3), hello]));
  await ingest.until(() => all().length === 1 + 2 * 1536);
  assert.deepEqual(all().subarray(1 + 1536), hello);
  assert.deepEqual([all()[0], ...all().subarray(5, 9)], [3, 0, 0, 0, 0]);
  socket.destroy();
});
