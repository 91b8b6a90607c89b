/** This server as one of several nodes that share a database: requests are passed on, processes are placed and handed over. */
import { createInterface } from "node:readline";
import type { Logger } from "pino";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { Config } from "../../schemas/config.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Alerts } from "../alerts/alerts.ts";
import { Poller } from "../async/poller.ts";
import { LoadMeter, nodeUrl, reachableHost } from "../cluster/machine.ts";
import type { ClusterNode } from "../cluster/node.ts";
import { Owners } from "../cluster/owners.ts";
import { Peers, PeerUnreachable } from "../cluster/peers.ts";
import { ClusterKey } from "../cluster/signature.ts";
import type { StoredDetections } from "../detections/detections.ts";
import type { MessageRange } from "../detections/read-file.ts";
import type { GraphLibrary } from "../graphs/library.ts";
import type { ClusterStreams } from "../media/cluster-streams.ts";
import type { MediaHub } from "../media/media-hub.ts";
import { listOwnHosts } from "../net/addresses.ts";
import { HandOver } from "../processes/hand-over.ts";
import type { Supervisor } from "../processes/supervisor.ts";
import { ServiceError } from "../service-error.ts";
import type { Sql } from "../store/client.ts";
import { findHubPathOf } from "../store/hub-paths.ts";
import { drainNode, type NodeRow, readSigningKey } from "../store/nodes.ts";
import type { PassOn } from "../streams/sockets.ts";
import { ALERTS_PATH, detectionsPath, Forwarder, noticePath } from "./forward.ts";

interface ClusterDeps {
  readonly sql: Sql;
  readonly config: Config;
  readonly log: Logger;
  readonly node: ClusterNode;
  readonly processes: Supervisor;
  readonly library: Pick<GraphLibrary, "names">;
  readonly media: Pick<MediaHub, "find">;
  readonly elsewhere: ClusterStreams | undefined;
  readonly alerts: Pick<Alerts, "refresh" | "onChanged">;
  readonly detections: Pick<StoredDetections, "read">;
  readonly stallMs: number;
}

export interface Cluster {
  readonly forwarder: Forwarder;
  readonly passOn: PassOn;
  /** The evidence of a notice of a process that another node runs is complete. Never rejects. */
  notify(processUuid: string, notice: AlertNotice): Promise<void>;
  /** What that node has on its disk. Rejects with `node_unavailable`. */
  readDetections(nodeUuid: string, processUuid: string, range: MessageRange): AsyncIterable<DetectionMessage>;
  /** It listens: other nodes can send it requests from now on. */
  announce(ports: { readonly httpPort: number; readonly rtspPort: number }): Promise<void>;
  /** Before the service stops: hands its processes over, as far as other nodes take them. Never rejects. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

/** Time limit for notifying another node of a change. */
const TELL_MS = 5_000;
/** Time limit for reading the detections of a clip. */
const READ_MS = 60_000;
/** Interval of measurements. */
const LOAD_MS = 5_000;

export async function openCluster(deps: ClusterDeps): Promise<Cluster> {
  const { sql, config, log, node, processes, library, media, elsewhere, alerts, detections, stallMs } = deps;
  const peers = new Peers(node, new ClusterKey(await readSigningKey(sql)), config.cluster);
  const owners = new Owners(node, sql);
  const forwarder = new Forwarder({
    ...{ node, peers, owners, http: config.http, stallMs },
    costOf: (process) => processes.costOf(process),
    async findVideo(userUuid, sourceUuid) {
      const path = await findHubPathOf(sql, userUuid, sourceUuid);
      if (path === null) return null;
      return media.find(path) === null ? ((await elsewhere?.findNode(path))?.uuid ?? null) : node.uuid;
    },
    prepare: () => processes.prepare(),
    takeOver: (uuid) => processes.takeOver(uuid),
    refreshAlerts: () => alerts.refresh(),
    notify: (uuid, notice) => processes.held(uuid)?.notify({ type: "alert", notice }),
    readDetections: (uuid, range) => detections.read(uuid, range),
    fenceOf: (uuid) => {
      const held = processes.held(uuid);
      return held === null || held.isLeaving ? null : held.fence;
    },
  });
  const post = (peer: NodeRow, target: string, signal: AbortSignal, body: Buffer | null = null) =>
    peers.send(peer, {
      ...{ method: "POST", target, headers: {}, body, signal, hop: { address: "", publicUrl: "", fence: null } },
    });
  const tellAlerts = async (peer: NodeRow): Promise<void> => {
    (await post(peer, ALERTS_PATH, AbortSignal.timeout(TELL_MS))).resume();
  };
  // A node that is not notified reads them within seconds.
  alerts.onChanged = async () => {
    const others = (await node.list().catch(() => [])).filter(
      ({ uuid, isLive, url, processes }) => isLive && url !== null && processes > 0 && uuid !== node.uuid,
    );
    await Promise.allSettled(others.map(tellAlerts));
  };
  const handOver = new HandOver({ node, peers, log, list: () => processes.all });
  node.onDrain = (until) => void handOver.run(until);
  const meter = new LoadMeter();
  const measuring = new Poller(async () => {
    node.update({ load: await meter.read() });
    return LOAD_MS;
  });
  measuring.start(LOAD_MS);
  return {
    forwarder,
    passOn: async (processUuid, request, connection, head, { address, publicUrl }) => {
      if (processes.held(processUuid)?.isLeaving === false) return false;
      // Not from the cache: a client that is passed to a wrong node is not passed on again.
      const owner = await owners.find(processUuid, true);
      if (owner === null) return false;
      try {
        await peers.passUpgrade(owner.node, request, connection, head, { address, publicUrl, fence: owner.fence });
        return true;
      } catch (error) {
        if (error instanceof PeerUnreachable) return false;
        throw error;
      }
    },
    async notify(processUuid, notice) {
      try {
        const owner = await owners.find(processUuid);
        if (owner === null) return;
        const body = Buffer.from(JSON.stringify(notice));
        (await post(owner.node, noticePath(processUuid), AbortSignal.timeout(TELL_MS), body)).resume();
      } catch (error) {
        log.info({ err: error, process: processUuid }, "clients of another node not notified of evidence");
      }
    },
    async *readDetections(nodeUuid, processUuid, range) {
      const unavailable = (cause?: unknown) =>
        new ServiceError("node_unavailable", {
          detail:
            "the detections of this time are on the disk of a node that cannot be reached; try again when it is back",
          ...{ retryAfterSeconds: 10, cause },
        });
      const peer = await node.find(nodeUuid);
      if (peer === null) throw unavailable();
      try {
        const answer = await post(peer, detectionsPath(processUuid, range), AbortSignal.timeout(READ_MS));
        if (answer.statusCode !== 200) throw new Error(`it answered ${answer.statusCode}`);
        for await (const line of createInterface({ input: answer })) yield JSON.parse(line) as DetectionMessage;
      } catch (error) {
        throw unavailable(error);
      }
    },
    async announce({ httpPort, rtspPort }) {
      const { http, rtsp, cluster } = config;
      const url = nodeUrl(config, httpPort);
      const host = cluster.url === null ? reachableHost(rtsp.host ?? http.host) : new URL(cluster.url).hostname;
      const graphs = Object.fromEntries((await library.names()).map((name) => [name, ""]));
      node.update({ url, rtspUrl: `rtsp://${host}:${rtspPort}`, hosts: listOwnHosts(config), graphs });
      await node.renew();
    },
    async leave() {
      try {
        const seconds = config.cluster.drain_seconds;
        const others = (await node.listNow()).filter(({ uuid, isLive }) => isLive && uuid !== node.uuid);
        if (others.length === 0 || processes.all.length === 0) return;
        await drainNode(sql, node.uuid, seconds);
        await node.renew();
        await handOver.run(new Date(Date.now() + seconds * 1000));
      } catch (error) {
        log.warn({ err: error }, "processes could not be handed over; other nodes take them when this one has stopped");
      }
    },
    async close() {
      handOver.close();
      await measuring.close();
      peers.close();
    },
  };
}
