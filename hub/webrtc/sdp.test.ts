import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../test/any-character.fixture.ts";
import { StatusError } from "../errors.ts";
import { chromiumOffer, h265Offer } from "./offer.fixture.ts";
import { chooseCodec, readOffer, writeAnswer } from "./sdp.ts";

const h264 = (profile: number) => ({ codec: "h264", sets: [Uint8Array.of(0x67, profile)] }) as const;

const refusalOf = (sdp: string): StatusError => {
  try {
    readOffer(sdp);
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error;
  }
  return assert.fail("it was taken");
};

test("a browser's offer is read: H.264 with packetization-mode 1 alone, in its order", () => {
  const offer = readOffer(chromiumOffer());
  assert.equal(offer.video, 1);
  assert.deepEqual(
    offer.codecs.map(({ payloadType, profileLevelId }) => `${payloadType} ${profileLevelId}`),
    ["103 42001f", "109 42e01f", "117 4d001f", "39 64001f"],
  );
  assert.deepEqual(offer.codecs[0]?.feedback, ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"]);
  assert.equal(offer.iceUfrag, "q1Zr");
  assert.equal(offer.icePassword, "5zTkRS9kFqKqqiPzPcbvyzYD");
  assert.equal(offer.fingerprints[0]?.algorithm, "sha-256");
  assert.ok(offer.hasReducedSize);
});

test("the payload type follows the profile of the stream", () => {
  const { codecs } = readOffer(chromiumOffer());
  const choose = (profile: number, from = codecs) => chooseCodec(from, h264(profile)).profileLevelId;
  assert.equal(choose(0x42), "42001f");
  assert.equal(choose(0x4d), "4d001f");
  assert.equal(choose(0x64), "64001f");
  const withoutMain = codecs.filter(({ profileLevelId }) => !profileLevelId.startsWith("4d"));
  assert.equal(choose(0x4d, withoutMain), "64001f", "one above it decodes it too");
  assert.equal(choose(0x58), "42001f", "an unknown one: the browser's first");
  assert.throws(
    () => choose(0x6e),
    /^Error: This stream is H.264 with 10 bits \(High 10\), which this browser does not/,
  );
});

test("H.265 is answered where the browser offers it, and rejected with what to do where it does not", () => {
  const h265 = { codec: "h265", sets: [] } as const;
  const offer = readOffer(h265Offer());
  const codec = chooseCodec(offer.codecs, h265);
  assert.equal(codec.payloadType, 103);
  const answer = writeAnswer({
    ...{ offer, codec, ssrc: 7, cname: "windhover", iceUfrag: "abcdefgh", icePassword: "0123456789012345678901234" },
    ...{ fingerprint: "AA:BB", candidates: [] },
  });
  assert.match(answer, /^a=rtpmap:103 H265\/90000\r$/m);
  assert.match(answer, /^a=fmtp:103 level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST\r$/m);
  for (const [sdp, track, title] of [
    [chromiumOffer(), h265, "H.265"],
    [h265Offer(), h264(0x42), "H.264"],
  ] as const)
    assert.throws(
      () => chooseCodec(readOffer(sdp).codecs, track),
      (error: StatusError) => error.status === 406 && error.message.startsWith(`This stream is ${title}, which this`),
    );
});

test("the answer sends the video, turns everything else down, and has all sections in the offer's order", () => {
  const offer = readOffer(chromiumOffer());
  const codec = chooseCodec(offer.codecs, h264(0x64));
  const answer = writeAnswer({
    offer,
    codec,
    ssrc: 4_000_000_000,
    cname: "windhover",
    iceUfrag: "abcdefgh",
    icePassword: "0123456789012345678901234",
    fingerprint: "AA:BB",
    candidates: [{ address: "192.0.2.7", port: 8189 }],
  });
  assert.deepEqual(answer.match(/^m=.*$/gm), ["m=audio 0 UDP/TLS/RTP/SAVPF 111", "m=video 9 UDP/TLS/RTP/SAVPF 39"]);
  assert.match(answer, /^a=group:BUNDLE 1\r$/m);
  assert.doesNotMatch(answer, /^a=ice-lite/m, "we check the viewer's address ourselves");
  assert.match(answer, /^a=candidate:1 1 udp \d+ 192\.0\.2\.7 8189 typ host\r$/m);
  assert.match(answer, /^a=fmtp:39 .*profile-level-id=64001f\r$/m);
  assert.deepEqual(answer.match(/^a=rtcp-fb:.*\S/gm), [
    "a=rtcp-fb:39 nack",
    "a=rtcp-fb:39 nack pli",
    "a=rtcp-fb:39 ccm fir",
  ]);
});

const without = (pattern: RegExp) => chromiumOffer().replaceAll(pattern, "");
const REFUSED: readonly (readonly [what: string, sdp: string, status: number, words: RegExp])[] = [
  ["no SDP at all", "hello", 400, /starts with v=0/],
  ["an empty body", "", 400, /starts with v=0/],
  ["no media", "v=0\r\ns=-\r\n", 400, /sections m=/],
  [
    "more sections than any browser has",
    `${chromiumOffer()}${"m=video 9 X 1\r\na=mid:9\r\n".repeat(20)}`,
    400,
    /1 to 16/,
  ],
  ["a megabyte", `v=0\r\n${"a=x\r\n".repeat(200_000)}`, 400, /at most 65536 bytes/],
  ["no video", chromiumOffer().replace("m=video", "m=application"), 406, /no video to receive/],
  [
    "a video that it would send itself",
    chromiumOffer().replaceAll("a=recvonly", "a=sendonly"),
    406,
    /no video to receive/,
  ],
  ["neither H.264 nor H.265", without(/H264\/90000/g), 406, /no H\.264 or H\.265/],
  ["H.264 in single packets alone", without(/packetization-mode=1/g), 406, /packetization-mode=1/],
  ["no DTLS", without(/a=fingerprint.*\r\n/g), 400, /fingerprint/],
  ["a hash that is not secure", chromiumOffer().replaceAll("sha-256", "md5"), 400, /fingerprint/],
  ["no ICE", without(/a=ice-ufrag.*\r\n/g), 400, /ice-ufrag/],
  ["no ICE password", without(/a=ice-pwd.*\r\n/g), 400, /ice-pwd/],
  ["a short ICE password", chromiumOffer().replaceAll("5zTkRS9kFqKqqiPzPcbvyzYD", "short"), 400, /ice-pwd/],
  ["a browser that waits for us", chromiumOffer().replaceAll("actpass", "passive"), 406, /setup/],
  ["plain RTP", chromiumOffer().replaceAll("UDP/TLS/RTP/SAVPF", "RTP/AVP"), 406, /SAVPF/],
  ["no names of sections", without(/a=mid.*\r\n/g), 400, /a=mid/],
];

for (const [what, sdp, status, words] of REFUSED) {
  test(`rejects an offer with ${what}, with the reason`, () => {
    const refusal = refusalOf(sdp);
    assert.equal(refusal.status, status);
    assert.match(refusal.message, words);
  });
}

test("reads or rejects any text, and never injects it into the answer", () => {
  const lines = chromiumOffer().split("\r\n");
  const mangled = fc
    .array(
      fc.tuple(
        fc.nat(lines.length - 1),
        fc.oneof(fc.string(), fc.constantFrom("m=video 9 UDP/TLS/RTP/SAVPF 1", "a=mid:1\r\nx")),
      ),
      {
        maxLength: 6,
      },
    )
    .map((changes) => {
      const copy = [...lines];
      for (const [at, line] of changes) copy[at] = line;
      return copy.join("\r\n");
    });
  fc.assert(
    fc.property(fc.oneof(mangled, fc.string({ unit: anyCharacter, maxLength: 300 })), (sdp) => {
      let offer: ReturnType<typeof readOffer>;
      try {
        offer = readOffer(sdp);
      } catch (error) {
        assert.ok(error instanceof StatusError, String(error));
        return;
      }
      for (const { kind, protocol, formats, mid } of offer.media) {
        for (const text of [kind, protocol, formats, mid]) assert.doesNotMatch(text, /[\r\n]/);
      }
    }),
    { numRuns: 200 },
  );
});
