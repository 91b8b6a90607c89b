import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CODECS } from "../codecs.ts";
import { readAac, readParameterSets, readSdp, writeSdp } from "./sdp.ts";

const SPS = Buffer.from("Z2QAFazZQUH7ARAAAAMAEAAAAwPA8UKZYA==", "base64");
const PPS = Buffer.from("aOvjyyLA", "base64");
const VIDEO = { codec: "h264", sets: [SPS, PPS], width: 320, height: 240, reorders: false } as const;
const AUDIO = { codec: "aac", config: Buffer.from("1210", "hex"), sampleRate: 44_100, channels: 2 } as const;

test("a description that is written is read as it was", () => {
  const [video, audio, ...more] = readSdp(writeSdp({ video: VIDEO, audio: AUDIO })) ?? [];
  assert.ok(video && audio && more.length === 0);
  assert.deepEqual(readParameterSets(CODECS.h264, video), [SPS, PPS]);
  assert.equal(`${video.encoding}/${video.clockRate} ${video.payloadType} ${video.control}`, "H264/90000 96 trackID=0");
  assert.deepEqual(readAac(audio)?.track, AUDIO);
  assert.deepEqual(readAac(audio)?.layout, { sizeBits: 13, indexBits: 3, frameTicks: 1024 });
});

test("recognizes audio that is not AAC by RFC 3640", () => {
  const read = (...lines: string[]) =>
    readAac(readSdp(["v=0", "m=audio 0 RTP/AVP 97", ...lines].join("\n"))?.[0] ?? assert.fail());
  assert.equal(read("a=rtpmap:97 opus/48000/2"), null);
  assert.equal(read("a=rtpmap:97 MP4A-LATM/44100", "a=fmtp:97 cpresent=0;config=400024203fc0"), null);
  assert.equal(read("a=rtpmap:97 mpeg4-generic/44100/2", "a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3"), null);
  assert.equal(
    read("a=rtpmap:97 mpeg4-generic/44100/2", "a=fmtp:97 mode=AAC-hbr;sizelength=99;indexlength=3;config=1210"),
    null,
  );
});

test("any text is an SDP or null, with valid parameter sets or none", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "v=0",
      "m=video 0 RTP/AVP 96",
      "m=audio 0 RTP/AVP 97",
      "a=rtpmap:96 H264/90000",
      "a=fmtp:96 ",
      "a=control:*",
    ),
    fc
      .string()
      .map(
        (text) =>
          `a=fmtp:96 sprop-parameter-sets=${text};sprop-vps=${text};sprop-sps=${text};sprop-pps=${text};config=${text}`,
      ),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      for (const media of readSdp(["v=0", ...lines].join("\r\n")) ?? []) {
        for (const codec of Object.values(CODECS)) readParameterSets(codec, media);
        readAac(media);
      }
    }),
  );
});
