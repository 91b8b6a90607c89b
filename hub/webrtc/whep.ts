/** Browsers watch streams by WebRTC: each sends an offer over HTTP (WHEP) and gets its answer. The server has let it in. */
import type { HubSettings } from "../../schemas/hub.ts";
import { describeFault } from "../guard.ts";
import type { Log } from "../log.ts";
import { StreamRefusal, type Streams } from "../streams.ts";
import { listAddresses } from "./addresses.ts";
import { writeAnswer } from "./answer.ts";
import { createIdentity, type DtlsIdentity } from "./dtls.ts";
import { chooseCodec, readOffer } from "./offer.ts";
import { PendingOffers, type PendingViewer } from "./offers.ts";
import { REORDERS, WhepRefusal } from "./refusal.ts";
import { UdpPort } from "./udp-port.ts";
import { Viewer } from "./viewer.ts";

export interface WhepParts {
  readonly settings: Pick<HubSettings, "webrtc"> & {
    readonly limits: Pick<HubSettings["limits"], "connectMs" | "stalledMs" | "readerBytes" | "readersPerStream">;
  };
  readonly streams: Pick<Streams, "read" | "tracks" | "expectRoom">;
  readonly log: Log;
}

/** What all viewers share. */
interface Shared {
  readonly port: UdpPort;
  readonly identity: DtlsIdentity;
}

export class Whep {
  readonly #parts: WhepParts;
  readonly #viewers = new Map<string, { readonly path: string; readonly viewer: Viewer }>();
  readonly #pending: PendingOffers<PendingViewer>;
  #shared: Promise<Shared> | null = null;
  #isClosed = false;

  constructor(parts: WhepParts) {
    this.#parts = parts;
    this.#pending = new PendingOffers(parts.settings.limits.readersPerStream);
  }

  /**
   * The answer to a viewer's offer, and what to close it by. Throws a `WhepRefusal`, or a `StreamRefusal` of a stream that
   * is not live or has no room for this client. `client`: where the viewer comes from.
   */
  async offer(path: string, sdp: string, client?: string): Promise<{ id: string; sdp: string }> {
    const offer = readOffer(sdp);
    this.#tracks(path);
    const { port, identity } = await this.#prepare();
    // Anew: it may have changed meanwhile.
    const tracks = this.#tracks(path);
    const codec = chooseCodec(offer.codecs, tracks.video.sps);
    const { settings, streams, log } = this.#parts;
    streams.expectRoom(path, client);
    const viewer: Viewer = new Viewer({
      client,
      offer,
      codec,
      identity,
      limits: settings.limits,
      join: (reader) => streams.read(path, reader),
      onConnected: () => this.#pending.remove(pending),
      onClosed: (reason) => {
        this.#pending.remove(pending);
        port.remove(viewer);
        this.#viewers.delete(viewer.id);
        log("debug", "a viewer by WebRTC has gone", { path, viewer: viewer.id, reason });
      },
      onFault: (error) => log("error", "a viewer by WebRTC failed", { path, error: describeFault(error) }),
    });
    port.add(viewer);
    this.#viewers.set(viewer.id, { path, viewer });
    const pending: PendingViewer = { path, client, close: (reason) => viewer.close(reason) };
    this.#pending.add(pending);
    const addresses = listAddresses(settings.webrtc.addresses, port.hasIpv6);
    const answer = writeAnswer({
      offer,
      codec,
      sessionId: String(viewer.ssrc),
      ssrc: viewer.ssrc,
      cname: "windhover",
      iceUfrag: viewer.ufrag,
      icePassword: viewer.password,
      fingerprint: identity.fingerprint,
      candidates: addresses.map((address) => ({ address, port: port.port })),
    });
    return { id: viewer.id, sdp: answer };
  }

  /** False when this stream has no such viewer. */
  close(path: string, id: string): boolean {
    const found = this.#viewers.get(id);
    if (found?.path !== path) return false;
    found.viewer.close("the viewer has asked for it");
    return true;
  }

  /** For good. */
  async closeAll(): Promise<void> {
    this.#isClosed = true;
    for (const { viewer } of [...this.#viewers.values()]) viewer.close("the media server is being shut down");
    const shared = await this.#shared?.catch(() => null);
    shared?.port.close();
  }

  #tracks(path: string) {
    const tracks = this.#parts.streams.tracks(path);
    if (tracks === null) throw new StreamRefusal("not_live", `nothing is published at ${path}`);
    if (tracks.video.reorders) throw new WhepRefusal(409, REORDERS);
    return tracks;
  }

  /** From the first viewer on. */
  async #prepare(): Promise<Shared> {
    if (this.#isClosed) throw new WhepRefusal(503, "The media server is being shut down.");
    const { portFirst, portLast } = this.#parts.settings.webrtc;
    const shared = this.#shared ?? open(portFirst, portLast);
    this.#shared = shared;
    try {
      return await shared;
    } catch (error) {
      // The next viewer finds out whether it is still so.
      this.#shared = null;
      const detail = error instanceof Error ? error.message : String(error);
      this.#parts.log("error", "WebRTC cannot be served", { detail });
      throw new WhepRefusal(503, `WebRTC cannot be served: ${detail}.`);
    }
  }
}

/** Loads the addon for DTLS only now: a hub without viewers by WebRTC works without it. */
async function open(portFirst: number, portLast: number): Promise<Shared> {
  const identity = createIdentity();
  return { port: await UdpPort.open(portFirst, portLast), identity };
}
