/** Both open ports of the hub, a private stream, and recorded sessions of real clients. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Connections } from "../../hub/connections.ts";
import { StreamRejected } from "../../hub/errors.ts";
import type { Log } from "../../hub/log.ts";
import { makeFlv } from "../../hub/rtmp/clips.fixture.ts";
import { ffmpeg, runProgram } from "../../hub/rtmp/rtmp.fixture.ts";
import { openRtmp } from "../../hub/rtmp/session.ts";
import { openRtsp } from "../../hub/rtsp/session.ts";
import type { AccessRequest } from "../../hub/server-channel.ts";
import { Streams } from "../../hub/streams.ts";
import { Whep } from "../../hub/webrtc/whep.ts";
import { NAL, nalType, splitStartCodes } from "../../media/h264/nal.ts";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { publishRtmp } from "../../media/rtmp/publisher.ts";

/** Keys of the same length. */
export const KEY = "wh_right_0123456789abcdef";
export const WRONG_KEY = "wh_wrong_0123456789abcdef";
/** Part of every picture of the stream at `SECRET_PATH`. */
export const SECRET = Buffer.from("only-for-its-owner-4711");
export const SECRET_PATH = "owner/secret";
const PLAYED_PACKETS = "10";
const REPORT_MS = 20;

const X265 =
  "-f lavfi -i testsrc=size=64x64:rate=12 -frames:v 12 -pix_fmt yuv420p -c:v libx265 -preset ultrafast -x265-params keyint=6:pools=1:log-level=error".split(
    " ",
  );

const LIMITS = {
  ...{ publishers: 8, readersPerStream: 64, connections: 100, connectionsPerAddress: 100 },
  ...{ helloMs: 5000, frozenMs: 60_000, keylessMs: 60_000, stalledMs: 5000, readerBytes: 2 ** 20, unitBytes: 2 ** 21 },
  ...{ cacheBytes: 2 ** 22, keyBytes: 2 ** 30, hlsIdleMs: 1000, hlsBytes: 2 ** 22, connectMs: 1000, verdictMs: 2000 },
};

/** Everything a client sent to one of the ports. */
export interface Session {
  readonly name: string;
  readonly port: number;
  readonly sent: Buffer;
  /** End of the handshake. */
  readonly start: number;
}

export class MediaPorts {
  granted: AccessRequest[] = [];
  published: string[] = [];
  /** Logged errors of the hub. */
  readonly faults: unknown[] = [];
  readonly connections = new Connections(LIMITS);
  readonly streams: Streams;
  #ports = { rtsp: 0, rtmp: 0 };
  #close: () => Promise<void> = async () => {};

  readonly #log: Log = (level, message, fields) => {
    if (level === "error") this.faults.push([message, fields]);
  };

  private constructor() {
    this.streams = new Streams(LIMITS, { published: ({ path }) => void this.published.push(path) }, this.#log);
  }

  static async open(): Promise<MediaPorts> {
    const ports = new MediaPorts();
    const { streams, connections } = ports;
    const access = { authorize: (request: AccessRequest) => ports.#authorize(request) };
    const log = ports.#log;
    const options = { host: "127.0.0.1", port: 0, settings: { limits: LIMITS }, streams, access, connections, log };
    const [rtsp, rtmp] = [await openRtsp({ ...options, reportMs: REPORT_MS }), await openRtmp(options)];
    ports.#ports = { rtsp: rtsp.port, rtmp: rtmp.port };
    const stop = ports.#publishSecret();
    ports.#close = async () => {
      stop();
      streams.close("the test is over");
      await Promise.all([rtsp.close(), rtmp.close()]);
    };
    return ports;
  }

  close(): Promise<void> {
    return this.#close();
  }

  get rtspPort(): number {
    return this.#ports.rtsp;
  }

  /** WebRTC playback of the private stream. */
  openWhep(): Whep {
    const webrtc = { addresses: [], portFirst: 0, portLast: 0 };
    const limits = {
      connectMs: 20_000,
      stalledMs: 20_000,
      readerBytes: 2 ** 20,
      readersPerStream: 64,
      unitBytes: 2 ** 22,
    };
    return new Whep({ settings: { webrtc, limits }, streams: this.streams, log: this.#log });
  }

  get others(): string[] {
    return this.streams
      .list()
      .map(({ path }) => path)
      .filter((path) => path !== SECRET_PATH);
  }

  async #authorize(request: AccessRequest): Promise<{ recording: null }> {
    if (request.secret !== KEY || !request.path.startsWith("owner/")) {
      throw new StreamRejected("unauthorized", "a valid key is required");
    }
    this.granted.push(request);
    return { recording: null };
  }

  /** Granted requests and published paths since the last call. */
  takeEvents(): { granted: AccessRequest[]; published: string[] } {
    const { granted, published } = this;
    this.granted = [];
    this.published = [];
    return { granted, published };
  }

  /** Records ffmpeg publishing to both ports and playing from one, and GStreamer publishing to the other. */
  async record(): Promise<Session[]> {
    const clip = await makeFlv({ frames: 12, hasSound: true });
    const copy = ["-i", clip, "-c", "copy"];
    const url = (scheme: string, port: number, path: string) =>
      `${scheme}://any:${KEY}@127.0.0.1:${port}/owner/${path}`;
    const demux = `filesrc location=${clip} ! flvdemux ! h264parse ! flvmux streamable=true !`;
    const rtmp = (port: number, path: string) => `rtmp://127.0.0.1:${port}/owner/${path}?api_key=${KEY}`;
    return [
      await this.#recordClient("rtmp by ffmpeg", this.#ports.rtmp, (port) =>
        ffmpeg(...copy, "-f", "flv", rtmp(port, "a/b")),
      ),
      await this.#recordClient("rtmp by rtmp2sink", this.#ports.rtmp, (port) =>
        runProgram("gst-launch-1.0", `-q ${demux} rtmp2sink sync=false location=${rtmp(port, "c")}`.split(" ")),
      ),
      await this.#recordClient("rtsp publishing", this.#ports.rtsp, (port) =>
        ffmpeg(...copy, "-f", "rtsp", "-rtsp_transport", "tcp", url("rtsp", port, "d")),
      ),
      await this.#recordClient("rtsp publishing H.265", this.#ports.rtsp, (port) =>
        ffmpeg(...X265, "-f", "rtsp", "-rtsp_transport", "tcp", url("rtsp", port, "e")),
      ),
      await this.#recordClient("rtmp publishing H.265", this.#ports.rtmp, async (port) => {
        // No other program here sends enhanced RTMP.
        const { tracks, units } = makeClip({ codec: "h265", seconds: 1, fps: 12, gop: 6, size: "64x64" });
        const publisher = await publishRtmp(rtmp(port, "f"), tracks);
        for (const unit of units) publisher.send(unit);
        await publisher.close();
        return { code: 0, output: "" };
      }),
      await this.#recordClient("rtsp playing", this.#ports.rtsp, (port) => {
        const input = ["-rtsp_transport", "tcp", "-i", url("rtsp", port, "secret")];
        return ffmpeg(...input, "-c", "copy", "-frames:v", PLAYED_PACKETS, "-f", "null", "-");
      }),
    ];
  }

  async #recordClient(
    name: string,
    target: number,
    run: (port: number) => Promise<{ code: number | null; output: string }>,
  ): Promise<Session> {
    const sent: Buffer[] = [];
    const relay = createServer((client) => {
      const hub = connect(target, "127.0.0.1");
      client.on("data", (bytes) => sent.push(bytes));
      forward(client, hub);
      forward(hub, client);
    });
    relay.listen(0, "127.0.0.1");
    await once(relay, "listening");
    const { port } = relay.address() as AddressInfo;
    const { code, output } = await run(port);
    assert.equal(code, 0, `${name}: ${output}`);
    relay.close();
    return { name, port: target, sent: Buffer.concat(sent), start: name.startsWith("rtmp") ? 1 + 2 * 1536 : 0 };
  }

  /** A keyframe every 20 ms, so that every player receives one at once. */
  #publishSecret(): () => void {
    const line = "-f lavfi -i testsrc=size=64x64:rate=25 -frames:v 1 -pix_fmt yuv420p -c:v libx264 -f h264 pipe:1";
    const nals = splitStartCodes(execFileSync("ffmpeg", ["-v", "error", ...line.split(" ")]));
    const find = (type: number) => nals.find((nal) => nalType(nal) === type) ?? assert.fail();
    const [sps, pps, idr] = [find(NAL.sps), find(NAL.pps), find(NAL.idr)];
    const publication = this.streams.publish(SECRET_PATH, "rtsp", null);
    publication.setTracks({
      video: { codec: "h264", sets: [sps, pps], width: 64, height: 64, reorders: false },
      audio: null,
    });
    const parts = [sps, pps, Buffer.concat([Buffer.of(NAL.sei), SECRET]), idr];
    let dtsUs = 0;
    const write = () => {
      dtsUs += 20_000;
      publication.write({ kind: "video", dtsUs, ptsUs: dtsUs, captureMs: Date.now(), isKey: true, parts });
    };
    write();
    const timer = setInterval(write, 20);
    return () => clearInterval(timer);
  }
}

/** Also closes after a reset. */
function forward(from: Socket, to: Socket): void {
  from.on("error", () => {}).on("close", () => to.destroySoon());
  from.pipe(to);
}
