/** HLS behind HTTP, a real-time publisher, and a viewer that follows the standard. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AccessUnit } from "../../media/access-unit.ts";
import type { Clip } from "../../media/mp4/clip.fixture.ts";
import type { HubSettings } from "../../schemas/hub.ts";
import { StreamRejected } from "../errors.ts";
import { LIMITS } from "../hub.fixture.ts";
import type { Publication } from "../live-stream.ts";
import { Streams } from "../streams.ts";
import { Hls } from "./hls.ts";
import { checkPlaylist, checkSuccession, type ReadPlaylist, readPlaylist } from "./read-playlist.fixture.ts";

export const PATH = "user/camera";

export class TestHls {
  readonly streams: Streams;
  readonly hls: Hls;
  readonly #server: Server;
  #onViewer = (): void => {};

  private constructor(limits: Partial<HubSettings["limits"]>) {
    const all = { ...LIMITS, ...limits };
    this.streams = new Streams(all);
    this.hls = new Hls({ settings: { limits: all }, streams: this.streams, log: () => {} });
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://hub");
      const [, ...names] = url.pathname.split("/");
      if (url.pathname.endsWith("/video.m3u8")) this.#onViewer();
      const aborter = new AbortController();
      response.on("close", () => aborter.abort());
      this.hls
        .answer(names.slice(0, -1).join("/"), names.at(-1) ?? "", url.searchParams, aborter.signal)
        .catch((error: unknown) => {
          if (!(error instanceof StreamRejected)) throw error;
          return { status: error.kind === "not_live" ? 404 : 503, headers: {}, body: error.message };
        })
        .then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
    });
  }

  static async open(t: TestContext, limits: Partial<HubSettings["limits"]> = {}): Promise<TestHls> {
    const made = new TestHls(limits);
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      made.streams.close("the test is over");
      made.hls.close();
      made.#server.closeAllConnections();
      made.#server.close();
    });
    return made;
  }

  get readers(): number {
    return this.streams.list()[0]?.readers ?? 0;
  }

  publish(): Publication {
    return this.streams.publish(PATH, "rtsp", null);
  }

  /** A viewer watches from the first picture, and the whole clip has been published. */
  async play(clip: Pick<Clip, "tracks" | "units">): Promise<Publication> {
    const publication = await this.#begin(clip);
    for (const unit of clip.units.slice(1)) publication.write(unit);
    return publication;
  }

  /**
   * The same, at the pace of a camera, which stops when the clip is over: then the second promise resolves. It begins when a
   * viewer asks for the playlist: on a busy machine a player may take longer to start than the clip lasts.
   */
  async stream(clip: Pick<Clip, "tracks" | "units">): Promise<{ readonly over: Promise<void> }> {
    const publication = await this.#begin(clip);
    const viewer = new Promise<void>((resolve) => {
      this.#onViewer = resolve;
    });
    const play = () => feed(publication, clip.units.slice(1));
    return { over: viewer.then(play).then(() => publication.close("over")) };
  }

  async #begin({ tracks, units }: Pick<Clip, "tracks" | "units">): Promise<Publication> {
    const publication = this.publish();
    publication.setTracks(tracks);
    for (const unit of units.slice(0, 1)) publication.write({ ...unit, captureMs: Date.now() });
    await this.read("index.m3u8");
    return publication;
  }

  url(file: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/${PATH}/${file}`;
  }

  fetch(file: string): Promise<Response> {
    return fetch(this.url(file));
  }

  /** It must be there. */
  async read(file: string): Promise<Buffer> {
    const response = await this.fetch(file);
    const body = Buffer.from(await response.arrayBuffer());
    if (response.status !== 200) throw new Error(`${response.status} for ${file}: ${body}`);
    return body;
  }

  async playlist(query = ""): Promise<ReadPlaylist> {
    const playlist = readPlaylist((await this.read(`video.m3u8${query}`)).toString());
    checkPlaylist(playlist);
    return playlist;
  }
}

/** As they would come from a camera: each when it has been taken, with the time of now. */
async function feed(publication: Publication, units: readonly AccessUnit[]): Promise<void> {
  const startedAt = performance.now();
  for (const unit of units) {
    const earlyMs = unit.dtsUs / 1000 - (performance.now() - startedAt);
    if (earlyMs > 1) await sleep(earlyMs);
    publication.write({ ...unit, captureMs: Date.now() });
  }
}

/** Loads playlists that wait and parts as they are hinted at, until the end of the list. */
export class Viewer {
  readonly playlists: ReadPlaylist[] = [];
  /** Each after the init segment that it needs, where that is another one. */
  readonly media: Buffer[] = [];
  /** When each came, and how long it lasts. */
  readonly parts: { readonly uri: string; readonly atMs: number; readonly endMs: number }[] = [];
  #map = "";

  async watch(hls: TestHls): Promise<void> {
    let playlist = await hls.playlist();
    const seen = new Set<string>();
    for (;;) {
      const before = this.playlists.at(-1);
      if (before !== undefined) checkSuccession(before, playlist);
      this.playlists.push(playlist);
      for (const { map, parts, date } of playlist.segments) {
        let endMs = date;
        for (const { uri, duration } of parts) {
          endMs += duration * 1000;
          if (seen.has(uri)) continue;
          seen.add(uri);
          if (map !== this.#map) this.media.push(await hls.read(map));
          this.#map = map;
          this.media.push(await hls.read(uri));
          this.parts.push({ uri, atMs: Date.now(), endMs });
        }
      }
      if (playlist.isEnded) return;
      const last = playlist.segments.at(-1);
      const isGrowing = last?.uri === null;
      const number = isGrowing ? last.number : (last?.number ?? 0) + 1;
      playlist = await hls.playlist(`?_HLS_msn=${number}&_HLS_part=${isGrowing ? last.parts.length : 0}`);
    }
  }
}
