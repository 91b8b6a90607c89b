import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until } from "../../test/watch.fixture.ts";
import { openServer } from "./rtsp.fixture.ts";
import { BASIC, FakeCamera, PLAY_TCP, RECORD_TCP, SDP, Talk } from "./talk.fixture.ts";

const NO_SUCH_SESSION = "454 this connection has no such session";

describe("requests", () => {
  let server: Awaited<ReturnType<typeof openServer>>;
  before(async () => {
    server = await openServer();
  });
  after(async () => {
    await server.close();
    assert.deepEqual(server.faults, []);
  });
  const at = (path: string) => server.url(path, null);
  const talk = () => Talk.open(server.port);
  const announce = async (path: string, sdp = SDP) => (await talk()).say("ANNOUNCE", at(path), BASIC, sdp);

  test("OPTIONS needs no key and lists the methods", async () => {
    const answer = await (await talk()).ask("OPTIONS", "*");
    assert.match(answer?.headers.get("public") ?? "", /DESCRIBE.*ANNOUNCE.*SETUP.*PLAY.*RECORD/);
  });

  test("challenges clients without a key, and no others", async () => {
    const client = await talk();
    const asked = server.asked.length;
    const answer = await client.ask("DESCRIBE", at("owner/a"));
    assert.equal(answer?.status, 401);
    assert.match(answer?.headers.get("www-authenticate") ?? "", /^Basic realm=/);
    assert.equal(server.asked.length, asked);
    assert.equal(await client.say("DESCRIBE", at("owner/a"), BASIC), "404 no stream is published at owner/a");
  });

  test("accepts a key in the query, in the user info and in the header", async () => {
    const missing = "404 no stream is published at owner/a";
    assert.equal(await (await talk()).say("DESCRIBE", `${at("owner/a")}?api_key=a-key`), missing);
    assert.equal(await (await talk()).say("DESCRIBE", server.url("owner/a")), missing);
    assert.equal(await (await talk()).say("DESCRIBE", `${at("owner/a")}?api_key=wrong`), "401 the key is wrong");
  });

  test("rejects an invalid key on every request, and closes after the fifth", async () => {
    const client = await talk();
    const wrong = { Authorization: `Basic ${Buffer.from("any:wrong").toString("base64")}` };
    for (let i = 0; i < 5; i++)
      assert.equal(await client.say("ANNOUNCE", at("owner/a"), wrong, SDP), "401 the key is wrong");
    assert.equal(await client.say("OPTIONS", "*"), "closed");
  });

  test("rejects another user's path for publishing and playing", async () => {
    assert.equal(await announce("other/a"), "403 this is not your path");
    assert.equal(await (await talk()).say("DESCRIBE", at("other/a"), BASIC), "403 this is not your path");
    const client = await talk();
    const track = `${at("other/a")}/trackID=0`;
    assert.equal(await client.say("SETUP", track, { ...BASIC, ...PLAY_TCP }), "403 this is not your path");
  });

  for (const path of [
    "owner",
    "owner//a",
    "owner/../other/a",
    "owner/%2e%2e/other/a",
    "owner/a%00",
    "owner/..%2fother",
    "",
  ]) {
    test(`rejects the path "${path}" without asking the server`, async () => {
      const asked = server.asked.length;
      assert.match(await announce(path), /^404 /);
      assert.equal(server.asked.length, asked);
    });
  }

  test("rejects other video codecs in the status line", async () => {
    const av1 = SDP.replace("H264", "AV1");
    const words = "415 expected H.264 or H.265, received AV1: set the encoder to one of them";
    assert.equal(await announce("owner/x", av1), words);
    assert.equal(await announce("owner/x", "v=0\r\n"), "415 expected H.264 or H.265, the SDP has no video");
    assert.equal(await announce("owner/x", "hello"), "400 expected a session description (SDP)");
    assert.equal(await announce("owner/x"), "200 OK");
  });

  test("sets up other audio codecs and ignores them", async () => {
    const client = await talk();
    const sdp = `${SDP}m=audio 0 RTP/AVP 97\r\na=rtpmap:97 opus/48000/2\r\na=control:streamid=1\r\n`;
    assert.equal(await client.say("ANNOUNCE", at("owner/opus"), BASIC, sdp), "200 OK");
    for (const i of [0, 1]) {
      const transport = { Transport: `RTP/AVP/TCP;interleaved=${2 * i}-${2 * i + 1};mode=record` };
      assert.equal(await client.say("SETUP", `${at("owner/opus")}/streamid=${i}`, transport), "200 OK");
    }
    assert.equal(await client.say("RECORD", at("owner/opus")), "200 OK");
    assert.equal(await client.say("TEARDOWN", at("owner/opus")), "200 OK");
  });

  test("rejects a second publisher on one path until the first has ended", async () => {
    const first = await talk();
    assert.equal(await first.say("ANNOUNCE", at("owner/one"), BASIC, SDP), "200 OK");
    assert.equal(await announce("owner/one"), "403 owner/one is already being published");
    first.socket.destroy();
    await until(() => server.streams.list().length === 0);
    const again = await talk();
    let answer = "";
    // Until the server has seen that the first is gone.
    while (answer !== "200 OK") answer = await again.say("ANNOUNCE", at("owner/one"), BASIC, SDP);
  });

  test("rejects multicast, and different transports of the tracks", async () => {
    const client = await talk();
    await client.say("ANNOUNCE", at("owner/multi"), BASIC, SDP);
    const track = `${at("owner/multi")}/streamid=0`;
    const multicast = { Transport: "RTP/AVP;multicast;port=5000-5001;mode=record" };
    assert.match(await client.say("SETUP", track, multicast), /^461 .*multicast is not supported/);
    assert.match(await client.say("SETUP", track, { Transport: "RTP/SAVP;client_port=1-2" }), /^461 /);
    assert.equal(
      await client.say("SETUP", `${at("owner/multi")}/streamid=7`, RECORD_TCP),
      "404 no such track was announced",
    );
    assert.equal(await client.say("RECORD", at("owner/multi"), { Session: "x" }), NO_SUCH_SESSION);
    // Not every publisher states the mode again.
    assert.equal(await client.say("SETUP", track, PLAY_TCP), "200 OK");
    assert.equal(await client.say("SETUP", track, RECORD_TCP), "400 these channels are in use");
  });

  test("rejects requests in the wrong order, and the connection stays open", async () => {
    const client = await talk();
    assert.equal(await client.say("PLAY", at("owner/a"), { Session: "1" }), NO_SUCH_SESSION);
    assert.equal(await client.say("TEARDOWN", at("owner/a")), NO_SUCH_SESSION);
    assert.equal(await client.say("RECORD", at("owner/a")), NO_SUCH_SESSION);
    assert.match(await client.say("FLY", at("owner/a")), /^501 /);
    assert.equal(await client.say("GET_PARAMETER", at("owner/a")), "200 OK");
    assert.equal(await client.say("ANNOUNCE", at("owner/order"), BASIC, SDP), "200 OK");
    assert.match(await client.say("ANNOUNCE", at("owner/order"), BASIC, SDP), /^455 /);
    assert.equal(
      await client.say("RECORD", at("owner/order"), { Session: client.session ?? "" }),
      "455 RECORD requires SETUP of the video track",
    );
    assert.match(await client.say("PLAY", at("owner/order"), { Session: client.session ?? "" }), /^455 /);
  });

  test("asks for authorization of every publication: each has its own recording", async () => {
    const client = await talk();
    const asked = server.asked.length;
    for (let i = 1; i <= 2; i++) {
      assert.equal(await client.say("ANNOUNCE", at("owner/twice"), BASIC, SDP), "200 OK");
      assert.equal(server.asked.length, asked + i);
      assert.equal(await client.say("TEARDOWN", at("owner/twice")), "200 OK");
    }
  });

  test("logs why a publisher is rejected, without its key, but not the challenge", async () => {
    server.logged.length = 0;
    const client = await talk();
    assert.match(await client.say("ANNOUNCE", at("owner/why"), {}, SDP), /^401 a key is required/);
    assert.match(await client.say("ANNOUNCE", `${at("owner/why")}?api_key=secret`, {}, SDP), /^401 the key is wrong/);
    assert.match(await client.say("ANNOUNCE", at("other/why"), BASIC, SDP), /^403/);
    const av1 = SDP.replace("H264", "AV1");
    assert.match(await client.say("ANNOUNCE", at("owner/why"), BASIC, av1), /^415/);
    assert.deepEqual(server.logged, [
      'rtsp ANNOUNCE rejected: the key is wrong {"address":"127.0.0.1","path":"owner/why"}',
      'rtsp ANNOUNCE rejected: this is not your path {"address":"127.0.0.1","path":"other/why"}',
      'rtsp ANNOUNCE rejected: expected H.264 or H.265, received AV1: set the encoder to one of them {"address":"127.0.0.1","path":"owner/why"}',
    ]);
  });

  test("drops unsupported audio, and logs it", async () => {
    server.logged.length = 0;
    const latm = ["m=audio 0 RTP/AVP 97", "a=rtpmap:97 MP4A-LATM/44100", "a=control:streamid=1", ""].join("\r\n");
    assert.equal(await announce("owner/latm", SDP + latm), "200 OK");
    assert.match(server.logged[0] ?? "", /^rtsp audio dropped: expected AAC by RFC 3640 .*received MP4A-LATM/);
  });

  test("a session is of no use on another connection", async () => {
    const camera = await FakeCamera.open(server.url("owner/cam"));
    camera.shoot();
    await until(() => server.streams.tracks("owner/cam") !== null);
    const player = await talk();
    await player.say("SETUP", `${at("owner/cam")}/trackID=0`, { ...BASIC, ...PLAY_TCP });
    assert.match(player.session ?? "", /^[0-9a-f]{32}$/);
    const thief = await talk();
    thief.session = player.session;
    for (const method of ["PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER"]) {
      assert.equal(await thief.say(method, at("owner/cam")), NO_SUCH_SESSION);
    }
    assert.equal(await player.say("PLAY", at("owner/cam")), "200 OK");
  });

  test("a player pauses and resumes, and cannot switch streams in one session", async () => {
    const camera = await FakeCamera.open(server.url("owner/pause"));
    camera.shoot();
    await until(() => server.streams.tracks("owner/pause") !== null);
    const player = await talk();
    const setUp = { ...BASIC, ...PLAY_TCP };
    assert.equal(
      await player.say("SETUP", `${at("owner/pause")}/trackID=1`, setUp),
      "404 the stream has no such track",
    );
    assert.equal(await player.say("SETUP", `${at("owner/pause")}/trackID=0`, setUp), "200 OK");
    assert.match(await player.say("SETUP", `${at("owner/cam")}/trackID=0`, setUp), /^404 this session plays/);
    const answer = await player.ask("PLAY", at("owner/pause"));
    assert.match(answer?.headers.get("rtp-info") ?? "", /^url=rtsp:.*\/trackID=0;seq=\d+;rtptime=\d+$/);
    await until(() => player.frames.length > 0);
    assert.equal(await player.say("PAUSE", at("owner/pause")), "200 OK");
    const paused = player.frames.length;
    camera.shoot();
    assert.equal(await player.say("GET_PARAMETER", at("owner/pause")), "200 OK");
    assert.equal(player.frames.length, paused);
    assert.equal(await player.say("PLAY", at("owner/pause")), "200 OK");
    await until(() => player.frames.length > paused);
  });

  test("closes the connection with a reason for a request without CSeq, and for other protocols", async () => {
    for (const text of [
      "OPTIONS * RTSP/1.0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\x16\x03\x01\x00\x05\x01",
      "BOO\r\n",
    ]) {
      const client = await talk();
      client.socket.write(Buffer.from(text, "latin1"));
      if (text === "BOO\r\n") client.socket.write("\r\n");
      assert.match(String((await client.next())?.status), /^(400|505)$/);
      await client.closed;
    }
  });
});
