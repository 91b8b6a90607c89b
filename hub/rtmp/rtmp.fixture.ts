/** A port of the hub with an access client that accepts one key; records everything that is published. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import { Connections, type TcpPort } from "../connections.ts";
import { StreamRejected } from "../errors.ts";
import type { AccessRequest } from "../server-channel.ts";
import { Streams } from "../streams.ts";
import { openRtmp } from "./session.ts";

export const KEY = "wh_1_secret";

const LIMITS: HubSettings["limits"] = {
  ...{ publishers: 8, readersPerStream: 8, connections: 500, connectionsPerAddress: 500 },
  ...{
    helloMs: 20_000,
    frozenMs: 20_000,
    keylessMs: 20_000,
    stalledMs: 20_000,
    readerBytes: 2 ** 23,
    unitBytes: 2 ** 21,
  },
  ...{ cacheBytes: 2 ** 25, keyBytes: 2 ** 30, hlsIdleMs: 1000, hlsBytes: 2 ** 25, connectMs: 1000, verdictMs: 5000 },
};

/** One publication, from its first keyframe to its end. */
export interface Taken {
  readonly path: string;
  readonly tracks: Tracks[];
  readonly units: AccessUnit[];
  reason: string | null;
}

export class TestIngest {
  readonly taken: Taken[] = [];
  readonly questions: AccessRequest[] = [];
  readonly said: string[] = [];
  readonly limits: HubSettings["limits"];
  readonly streams: Streams;
  readonly connections: Connections;
  /** Accepts the key below `user/`. Tests may replace it. */
  authorize = async (question: AccessRequest): Promise<{ recording: string | null }> => {
    if (question.secret !== KEY) throw new StreamRejected("unauthorized", "a valid key is needed");
    if (!question.path.startsWith("user/")) throw new StreamRejected("forbidden", "only below /user/");
    return { recording: null };
  };
  #server: TcpPort | null = null;
  #changed: () => void = () => {};

  private constructor(limits: HubSettings["limits"]) {
    const log = (level: string, message: string, fields: unknown) =>
      this.said.push(`${level} ${message} ${JSON.stringify(fields)}`);
    this.limits = limits;
    this.connections = new Connections(limits);
    this.streams = new Streams(limits, { published: ({ path }) => this.#takeDown(path) }, log);
  }

  static async open(limits: Partial<HubSettings["limits"]> = {}, openPort = openRtmp): Promise<TestIngest> {
    const all = { ...LIMITS, ...limits };
    const ingest = new TestIngest(all);
    const { streams, connections } = ingest;
    const log = (level: string, message: string, fields: unknown) => {
      ingest.said.push(`${level} ${message} ${JSON.stringify(fields)}`);
      ingest.#changed();
    };
    const access = {
      authorize: (question: AccessRequest) => {
        ingest.questions.push(question);
        return ingest.authorize(question);
      },
    };
    const place = { host: "127.0.0.1", port: 0 };
    ingest.#server = await openPort({ ...place, settings: { limits: all }, streams, access, connections, log });
    after(() => ingest.close());
    return ingest;
  }

  get port(): number {
    return this.#server?.port ?? assert.fail("it is closed");
  }

  url(path: string, key: string | null = KEY): string {
    return `rtmp://127.0.0.1:${this.port}/${path}${key === null ? "" : `?api_key=${key}`}`;
  }

  /** Looks again whenever something is published, ends, is logged, or a connection goes. */
  async until<T>(look: () => T | undefined | false | null): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined && found !== false && found !== null) return found;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 20);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** The publication at this path, when it is over. */
  finished(path: string): Promise<Taken> {
    return this.until(() => this.taken.find((one) => one.path === path && one.reason !== null));
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
    this.streams.close("the test is over");
  }

  #takeDown(path: string): void {
    const taken: Taken = { path, tracks: [], units: [], reason: null };
    this.taken.push(taken);
    this.streams.read(path, {
      setTracks: (tracks) => void taken.tracks.push(tracks),
      push: (unit) => {
        taken.units.push(unit);
        this.#changed();
      },
      end: (reason) => {
        taken.reason = reason;
        this.#changed();
      },
    });
    this.#changed();
  }
}

export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "windhover-rtmp-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** Runs a program to its end; it is ended with the test or by the signal at the latest. */
export async function runProgram(
  program: string,
  args: readonly string[],
  signal?: AbortSignal,
  how: NodeJS.Signals = "SIGKILL",
): Promise<Outcome> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  after(() => child.kill("SIGKILL"));
  signal?.addEventListener("abort", () => child.kill(how), { once: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

export const ffmpeg = (...args: readonly string[]): Promise<Outcome> =>
  runProgram("ffmpeg", ["-v", "error", "-nostdin", "-y", ...args]);

/** Connected, with everything that is received taken down. */
export async function openSocket(
  port: number,
): Promise<{ socket: Socket; received: () => Buffer; closed: Promise<void> }> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (bytes) => chunks.push(bytes)).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  after(() => socket.destroy());
  await once(socket, "connect");
  return { socket, received: () => Buffer.concat(chunks), closed };
}
