/**
 * WebRTC viewers by WHEP and publishers by WHIP: an offer, which the server has authorized and forwarded, is answered with an
 * SDP. All share one UDP port.
 */
import { isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import type { HubSettings } from "../../schemas/hub.ts";
import type { Connections } from "../connections.ts";
import { StatusError } from "../errors.ts";
import { notLive } from "../live-stream.ts";
import type { Log } from "../log.ts";
import type { Streams } from "../streams.ts";
import { createIdentity, type DtlsIdentity } from "./dtls.ts";
import { UdpPort } from "./ice.ts";
import { chooseCodec, chooseSentCodec, type Offer, type OfferedCodec, readOffer, writeAnswer } from "./sdp.ts";
import { WebrtcPublisher } from "./to-stream.ts";
import { HAS_B_FRAMES, Viewer } from "./viewer.ts";

export interface WhepDeps {
  readonly settings: Pick<HubSettings, "webrtc"> & {
    readonly limits: Pick<
      HubSettings["limits"],
      "connectMs" | "stalledMs" | "readerBytes" | "readersPerStream" | "unitBytes"
    >;
  };
  readonly streams: Pick<Streams, "read" | "tracks" | "expectRoom" | "publish" | "abandon">;
  /** Absent in tests: clients stay when their key is revoked. */
  readonly connections?: Pick<Connections, "hold">;
  readonly log: Log;
}

/** What all sessions share. */
interface Shared {
  readonly port: UdpPort;
  readonly identity: DtlsIdentity;
}

/** Pending viewers of one client and stream. */
const MAX_PENDING_PER_CLIENT = 4;
const LOOPBACK = "127.0.0.1";

export class Whep {
  readonly #deps: WhepDeps;
  /** By id, the oldest first. */
  readonly #viewers = new Map<string, Viewer>();
  readonly #publishers = new Map<string, WebrtcPublisher>();
  #shared: Promise<Shared> | null = null;
  #isClosed = false;

  constructor(deps: WhepDeps) {
    this.#deps = deps;
  }

  /**
   * Answers a viewer's offer. Rejects with a `StatusError`, or with `StreamRejected` if the stream is not live or has no room
   * for this client. `client`: the viewer's address. `key`: what authorized it.
   */
  async offer(path: string, sdp: string, client?: string, key?: string): Promise<{ id: string; sdp: string }> {
    const offer = readOffer(sdp);
    this.#chooseCodec(path, offer);
    const { port, identity } = await this.#open();
    // Again: the stream may have changed meanwhile.
    const codec = this.#chooseCodec(path, offer);
    const { settings, streams, log } = this.#deps;
    streams.expectRoom(path, client);
    const viewer: Viewer = new Viewer({
      ...{ path, streams, client, offer, codec, identity, limits: settings.limits, log },
      onClosed: () => {
        port.remove(viewer);
        this.#viewers.delete(viewer.id);
        release?.();
      },
    });
    const release = this.#deps.connections?.hold(key, (reason) => viewer.close(reason));
    port.add(viewer);
    this.#viewers.set(viewer.id, viewer);
    this.#limitPending(viewer);
    const addresses = listAddresses(settings.webrtc.addresses, port.hasIpv6);
    const answer = writeAnswer({
      ...{ offer, codec, ssrc: viewer.ssrc, cname: "windhover" },
      ...{ iceUfrag: viewer.ufrag, icePassword: viewer.password, fingerprint: identity.fingerprint },
      candidates: addresses.map((address) => ({ address, port: port.port })),
    });
    return { id: viewer.id, sdp: answer };
  }

  /**
   * Answers a publisher's offer and reserves the path. Rejects with a `StatusError`, or with `StreamRejected` if the path is
   * taken or a limit is reached.
   * @param recording name of its recording; null for none
   */
  async publish(
    path: string,
    sdp: string,
    recording: string | null,
    key?: string,
  ): Promise<{ id: string; sdp: string }> {
    const { settings, streams, connections, log } = this.#deps;
    try {
      const offer = readOffer(sdp, "publish");
      const codec = chooseSentCodec(offer.codecs);
      const { port, identity } = await this.#open();
      const publication = streams.publish(path, "webrtc", recording);
      const publisher: WebrtcPublisher = new WebrtcPublisher({
        ...{ publication, offer, codec, identity, limits: settings.limits, log },
        onClosed: () => {
          port.remove(publisher);
          this.#publishers.delete(publisher.id);
          release?.();
        },
      });
      const release = connections?.hold(key, (reason) => publisher.close(reason));
      port.add(publisher);
      this.#publishers.set(publisher.id, publisher);
      const addresses = listAddresses(settings.webrtc.addresses, port.hasIpv6);
      const answer = writeAnswer({
        ...{ offer, codec, ssrc: null, cname: "windhover" },
        ...{ iceUfrag: publisher.ufrag, icePassword: publisher.password, fingerprint: identity.fingerprint },
        candidates: addresses.map((address) => ({ address, port: port.port })),
      });
      return { id: publisher.id, sdp: answer };
    } catch (error) {
      streams.abandon(path, { protocol: "webrtc", error });
      throw error;
    }
  }

  /** False: the stream has no such viewer or publisher. */
  close(path: string, id: string): boolean {
    const found = this.#viewers.get(id) ?? this.#publishers.get(id);
    if (found?.path !== path) return false;
    found.close(this.#viewers.has(id) ? "the viewer ended the session" : "the publisher ended the stream");
    return true;
  }

  /** Closes all sessions and accepts no new ones. */
  async closeAll(): Promise<void> {
    this.#isClosed = true;
    for (const session of [...this.#viewers.values(), ...this.#publishers.values()])
      session.close("the media server is shutting down");
    const shared = await this.#shared?.catch(() => null);
    shared?.port.close();
  }

  /**
   * An offer costs its sender nothing: pending viewers are limited per client, and per stream to its number of readers. The
   * oldest one of the client with the most is closed.
   */
  #limitPending({ path, client }: Viewer): void {
    const pending = [...this.#viewers.values()].filter((viewer) => viewer.isPending && viewer.path === path);
    const own = pending.filter((viewer) => viewer.client === client);
    if (client !== undefined && own.length > MAX_PENDING_PER_CLIENT)
      own[0]?.close("a newer offer of the same client replaced it");
    else if (pending.length > this.#deps.settings.limits.readersPerStream) {
      const counts = new Map<string | undefined, number>();
      for (const viewer of pending) counts.set(viewer.client, (counts.get(viewer.client) ?? 0) + 1);
      const max = Math.max(...counts.values());
      const oldest = pending.find((viewer) => counts.get(viewer.client) === max);
      oldest?.close("too many viewers are connecting");
    }
  }

  #chooseCodec(path: string, offer: Offer): OfferedCodec {
    const tracks = this.#deps.streams.tracks(path);
    if (tracks === null) throw notLive(path);
    const codec = chooseCodec(offer.codecs, tracks.video);
    if (tracks.video.reorders) throw new StatusError(409, HAS_B_FRAMES);
    return codec;
  }

  /** Opens the port and loads the DTLS addon for the first viewer: without viewers, the hub works without it. */
  async #open(): Promise<Shared> {
    if (this.#isClosed) throw new StatusError(503, "The media server is shutting down.");
    const { portFirst, portLast } = this.#deps.settings.webrtc;
    this.#shared ??= (async () => {
      const identity = createIdentity();
      return { port: await UdpPort.open(portFirst, portLast), identity };
    })();
    try {
      return await this.#shared;
    } catch (error) {
      // The next viewer tries again.
      this.#shared = null;
      const detail = error instanceof Error ? error.message : String(error);
      this.#deps.log("error", "webrtc unavailable", { detail });
      throw new StatusError(503, `WebRTC is unavailable: ${detail}.`);
    }
  }
}

/** The configured addresses first, because the machine cannot know them, then its own, then loopback for local browsers. */
function listAddresses(configured: readonly string[], hasIpv6: boolean): string[] {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    // Link-local addresses need an interface name of the browser's machine.
    .filter(({ internal, address }) => !internal && !address.toLowerCase().startsWith("fe80:"))
    .map(({ address }) => address);
  return [...new Set([...configured, ...own, LOOPBACK])].filter(
    (address) => isIP(address) !== 0 && (hasIpv6 || !isIPv6(address)),
  );
}
