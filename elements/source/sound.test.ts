import assert from "node:assert/strict";
import { test } from "node:test";
import { writeAdtsHeader } from "../../media/aac/adts.ts";
import { payloadAac } from "../../media/rtp/aac.ts";
import { writeRtpHeader } from "../../media/rtp/packet.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import { tapSound } from "./sound.ts";

const CONFIG = Buffer.from([0x11, 0x88]); // AAC LC, 48 kHz, mono
const FRAME = Buffer.from([1, 2, 3, 4]);
const RTP =
  "application/x-rtp, media=(string)audio, clock-rate=(int)48000, encoding-name=(string)MPEG4-GENERIC, config=(string)1188, sizelength=(string)13, indexlength=(string)3";

function open(isHeard = () => true) {
  const messages: JsonRecord[] = [];
  const warnings: unknown[] = [];
  const tap = tapSound({
    deliver: (_, message) => void messages.push(message),
    isHeard,
    log: { debug() {}, info() {}, error() {}, warn: (_, fields) => void warnings.push(fields?.reason) },
  });
  const push = (data: Uint8Array, caps: string, stream = "src_1", captureNs: bigint | null = 1_000_000_000n) =>
    tap.onPacket({ data, caps, stream, captureNs });
  return { messages, warnings, push };
}

function packetOf(frame: Uint8Array): Buffer {
  const [{ head, body }] = payloadAac(frame, 1200) as [{ head: Uint8Array; body: Uint8Array }];
  const header = Buffer.alloc(12);
  writeRtpHeader(header, 0, { marker: true, payloadType: 97, sequence: 7, timestamp: 0, ssrc: 1 });
  return Buffer.concat([header, head, body]);
}

const ADTS = "audio/mpeg, mpegversion=(int)4, stream-format=(string)adts";
const framed = Buffer.concat([writeAdtsHeader(CONFIG, FRAME.length), FRAME]);

for (const [what, caps, data] of [
  ["of RTSP", RTP, packetOf(FRAME)],
  ["of MPEG-TS", ADTS, framed],
  ["of FLV and MP4", "audio/mpeg, mpegversion=(int)4, stream-format=(string)raw, codec_data=(buffer)1188", FRAME],
] as const)
  test(`AAC ${what} is passed on with its configuration and capture time`, () => {
    const { messages, push } = open();
    push(data, caps);
    assert.deepEqual(messages, [
      { captureMs: 1000, config: CONFIG.toString("base64"), data: FRAME.toString("base64") },
    ]);
  });

test("nothing is read while no output wants sound; the rest of a frame from before is not joined", () => {
  let isWanted = false;
  const { messages, warnings, push } = open(() => isWanted);
  push(FRAME, "audio/x-opus");
  isWanted = true;
  push(framed.subarray(0, 9), ADTS);
  isWanted = false;
  push(framed, ADTS);
  isWanted = true;
  push(framed, ADTS);
  assert.deepEqual([messages.length, messages[0]?.data, warnings], [1, FRAME.toString("base64"), []]);
});

test("several frames in a packet follow one another", () => {
  const { messages, push } = open();
  push(Buffer.concat([framed, framed]), ADTS);
  assert.deepEqual(
    messages.map(({ captureMs }) => captureMs),
    [1000, 1000 + (1024 * 1000) / 48_000],
  );
});

test("of several tracks the first with AAC is passed on, and nothing before the first frame", () => {
  const { messages, push } = open();
  push(framed, ADTS, "src_1", null);
  push(Buffer.of(1), "audio/x-opus, rate=(int)48000", "src_2");
  push(framed, ADTS, "src_3");
  push(framed, ADTS, "src_4");
  push(Buffer.of(1), "audio/x-opus, rate=(int)48000", "src_2");
  assert.deepEqual(
    messages.map((message) => message.unsupported ?? "aac"),
    ["OPUS", "aac"],
  );
});

test("other codecs, and AAC without its configuration, are named once in the log", () => {
  for (const [caps, named] of [
    ["application/x-rtp, media=(string)audio, encoding-name=(string)PCMU", /^PCMU$/],
    ["audio/mpeg, mpegversion=(int)1, layer=(int)3", /^MP3$/],
    ["audio/x-alaw, rate=(int)8000", /^ALAW$/],
    ["audio/mpeg, mpegversion=(int)4, stream-format=(string)raw", /^AAC that cannot be read/],
    [RTP.replace("config=(string)1188, ", ""), /^AAC that cannot be read/],
  ] as const) {
    const { messages, warnings, push } = open();
    push(FRAME, caps);
    push(FRAME, caps);
    assert.equal(messages.length, 2);
    assert.match(String(messages[0]?.unsupported), named);
    assert.equal(warnings.length, 1);
  }
});
