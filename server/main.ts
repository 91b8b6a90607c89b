/**
 * The service, put together: database, keys, graphs, processes, API. Opened from the bottom up, closed from the top down;
 * what could not be opened takes what was opened along.
 */
import type { Logger } from "pino";
import { freeStartMemory } from "../ipc/start-memory.ts";
import type { AlertTypeDefinition } from "../schemas/alerts.ts";
import type { RunningDemo } from "../schemas/api/demo.ts";
import type { Config } from "../schemas/config.ts";
import { TerrainFolder } from "../terrain/terrain-folder.ts";
import { describeEvidence } from "./alerts/alert-evidence.ts";
import { Alerts } from "./alerts/alerts.ts";
import { checkAlertsOf } from "./alerts/written-alerts.ts";
import { alertEndpoints } from "./api/alerts.ts";
import { type AppDeps, type RunningApp, startApp } from "./api/app.ts";
import { calibrationEndpoints } from "./api/calibration.ts";
import { clipJobEndpoints } from "./api/clip-jobs.ts";
import { clipEndpoints } from "./api/clips.ts";
import { detectionEndpoints } from "./api/detections.ts";
import { eventEndpoints } from "./api/events.ts";
import { evidenceEndpoints, processRecordingModeEndpoints, recordingSettingEndpoints } from "./api/evidence.ts";
import { graphTestEndpoints } from "./api/graph-tests.ts";
import { branchEndpoints, graphEndpoints, processGraphEndpoints, processUpgradeEndpoints } from "./api/graphs.ts";
import { informationEndpoints } from "./api/information.ts";
import { keyEndpoints } from "./api/keys.ts";
import { mapEndpoints } from "./api/map.ts";
import { mediaEndpoints } from "./api/media.ts";
import { modelEndpoints } from "./api/models.ts";
import { nodeEndpoints } from "./api/nodes.ts";
import { noticeEndpoints } from "./api/notices.ts";
import { type Cluster, openCluster } from "./api/open-cluster.ts";
import { demoEndpoints, metricsEndpoints } from "./api/operations.ts";
import { outputEndpoints } from "./api/outputs.ts";
import { processEndpoints } from "./api/processes.ts";
import { processRecordingEndpoints, recordingEndpoints } from "./api/recordings.ts";
import { shadowEndpoints } from "./api/shadows.ts";
import { signInEndpoints } from "./api/sign-in.ts";
import { expectWithin, type FindSourceOf } from "./api/source-limits.ts";
import { sourceEndpoints } from "./api/sources.ts";
import { streamEndpoints } from "./api/streams.ts";
import { timelineEndpoints } from "./api/timeline.ts";
import { enhancementEndpoints, trackEndpoints, trackedProcessEndpoints } from "./api/tracks.ts";
import { consoleEndpoints, playerEndpoints } from "./api/web-pages.ts";
import { webhookEndpoints } from "./api/webhooks.ts";
import { ClipJobs } from "./clips/clip-jobs.ts";
import { RecordedSources } from "./clips/recorded-source.ts";
import { SourceVideo } from "./clips/source-video.ts";
import { Thumbnails } from "./clips/thumbnails.ts";
import { WorkFolders } from "./clips/work-folder.ts";
import { readCapacity } from "./cluster/machine.ts";
import { ClusterNode } from "./cluster/node.ts";
import { countNodes } from "./cluster/numbers.ts";
import { Confinement } from "./confinement/confinement.ts";
import { prepareDataFolder } from "./data-folder.ts";
import { Outbox } from "./delivery/outbox.ts";
import { Demo, type DemoDeps } from "./demo/demo.ts";
import { StoredDetections, saveTimes } from "./detections/detections.ts";
import type { MessageRange } from "./detections/read-file.ts";
import { Enhancements } from "./enhancement/enhancements.ts";
import { EventLog } from "./events/event-log.ts";
import { type CutVideo, cutEvidence } from "./evidence/cut-evidence.ts";
import { Evidence, NeedsEncoding } from "./evidence/evidence.ts";
import { renderEvidence } from "./evidence/render-evidence.ts";
import { openFiles } from "./files/open-files.ts";
import { GraphTests } from "./graph-tests/graph-tests.ts";
import { type GraphKnowledge, GraphLibrary, type GraphOrder } from "./graphs/library.ts";
import { OwnGraphs } from "./graphs/own-graphs.ts";
import { checkHealth } from "./health.ts";
import { Authenticator, findKeyIn, LoginGate, readLimits } from "./keys/authenticate.ts";
import { createFirstKey } from "./keys/keys.ts";
import { Oidc } from "./keys/oidc.ts";
import { liveOf } from "./keys/signed-urls.ts";
import { openMapTiles } from "./map/map-tiles.ts";
import { TerrainTiles } from "./map/terrain-tiles.ts";
import { CLIENT_LIMITS, LIMITS as HUB_LIMITS, HubFault } from "./media/media-hub.ts";
import { type MediaServer, type MediaServerDeps, openMedia } from "./media/open-media.ts";
import { ProcessRecordings } from "./media/recordings/recording-files.ts";
import { FLUSH_MS, RecordingUploads } from "./media/recordings/recording-uploads.ts";
import { Metrics } from "./metrics/metrics.ts";
import { ModelChecker } from "./models/check-model.ts";
import { OwnModels } from "./models/own-models.ts";
import { routeOutputs } from "./outputs/route-output.ts";
import { PulledSources } from "./processes/original-stream.ts";
import { LIMITS as PROCESS_LIMITS } from "./processes/processes.ts";
import { RecordingModes } from "./processes/recording-modes.ts";
import { RunnerFolders } from "./processes/runner-folders.ts";
import { Supervisor } from "./processes/supervisor.ts";
import { ShutDown } from "./shut-down.ts";
import { Sources } from "./sources/sources.ts";
import { StartFault } from "./start-fault.ts";
import { countWaiting } from "./store/claims.ts";
import { LIMITS as DATABASE_LIMITS, type Database, openDatabase } from "./store/database.ts";
import type { EvidenceRow } from "./store/evidence.ts";
import { findLastNode } from "./store/processes.ts";
import { findSourceOf } from "./store/source-of.ts";
import { findOwner } from "./store/users.ts";
import { LIMITS as STREAM_LIMITS } from "./streams/socket-client.ts";
import { Streams } from "./streams/streams.ts";
import { Calibrations } from "./telemetry/calibrations.ts";
import { openTracing } from "./tracing/open-tracing.ts";
import { TrackLog } from "./tracks/track-log.ts";
import type { User } from "./user.ts";
import { Webhooks } from "./webhooks/webhooks.ts";

/** What the server may not find out itself: it loads neither elements nor GStreamer nor models. */
export interface ServerKnowledge extends GraphKnowledge, Pick<DemoDeps, "prepareClip"> {
  readonly softwareVersion: string;
  /** Programs that are forked. */
  readonly runnerEntry: URL;
  readonly probeEntry: URL;
  readonly thumbnailEntry: URL;
  readonly hubEntry: URL;
  readonly modelCheckEntry: URL;
  /** What the set-up made of the console. */
  readonly consoleFolder: string;
  readonly enhancerEntry: URL;
  readonly alertTypes: readonly AlertTypeDefinition[];
  /** What runners read: models, and the graphs and elements of the operator. */
  readonly readFolders: readonly string[];
  /** Of all installed models. */
  classNames(): Promise<readonly string[]>;
}

export interface ServerParts {
  readonly config: Config;
  readonly knowledge: ServerKnowledge;
  readonly log: Logger;
  /** Aborted when it is to stop before it has started. */
  readonly signal: AbortSignal;
}

export interface RunningServer {
  /** What clients reach it at. */
  readonly url: string;
  /** What it listens on, whatever stands before it: `http://0.0.0.0:8080`. */
  readonly listen: string;
  /** What streams are published to and played from. */
  readonly rtsp: string;
  readonly rtmp: string;
  readonly srt: string;
  /** The master key that this start has made, to be shown once. Null when there were keys, or it was given. */
  readonly firstKey: string | null;
  /** Processes that ran when it was last stopped, and run again. */
  readonly resumed: number;
  /** For the first master: resolves when it runs, rejects with `ServiceError`. */
  startDemo(onStage?: (stage: "fetching" | "converting") => void): Promise<RunningDemo>;
  /** Everything that runs is stopped and will run again with the next start. False: something had to be left. */
  stop(): Promise<boolean>;
}

/** No address that one can go to. */
const EVERY_ADDRESS = /\/\/(?:0\.0\.0\.0|\[::\]):/;
/** Beyond what a part may take itself. */
const SPARE_MS = 3_000;
/** Grace period for open requests at shutdown. */
const API_CLOSE_MS = 5_000;

/** Rejects with `StartFault`, `DatabaseFault` or `KeyFault`, and then nothing is left running. */
export async function startServer(parts: ServerParts): Promise<RunningServer> {
  const shutDown = new ShutDown(parts.log);
  try {
    return await open(parts, shutDown);
  } catch (error) {
    await shutDown.run();
    throw error;
  }
}

async function open({ config, knowledge, log, signal }: ServerParts, shutDown: ShutDown): Promise<RunningServer> {
  await prepareDataFolder(config.data_dir, log);
  // Takes as long as the database does, and needs nothing of it.
  const opening = openLibrary(knowledge, config, shutDown);
  const { sql, health } = await openStore(config, log, shutDown);
  signal.throwIfAborted();
  const terrain = readTerrain(config.terrain.folder, partOf(log, "terrain"));
  const reads = [...knowledge.readFolders, ...(terrain === null ? [] : [terrain.folder])];
  const mapTiles = await openMapTiles(config.map);
  shutDown.add("map", SPARE_MS, () => mapTiles?.close());
  const terrainTiles = terrain?.spacingM == null ? null : new TerrainTiles(terrain.folder, terrain.spacingM);
  shutDown.add("terrain", SPARE_MS, () => terrainTiles?.close());
  const confinement = await Confinement.open({ config, log: partOf(log, "processes"), reads });
  shutDown.add("confinement", SPARE_MS, () => confinement.close());
  const folders = await RunnerFolders.open(config.data_dir, confinement.account, partOf(log, "processes"));
  shutDown.add("folders of runners", SPARE_MS, () => folders.close());
  // No other server uses a private database.
  const isAlone = config.database.url === null;
  const node = await ClusterNode.join(
    { sql, log: partOf(log, "cluster"), isAlone },
    { version: knowledge.softwareVersion, ...readCapacity(config.cluster) },
  );
  shutDown.add("node", SPARE_MS, () => node.leave());
  const { probeEntry, runnerEntry, hubEntry, softwareVersion } = knowledge;
  const nodeUuid = node.uuid;
  const tracing = await openTracing({
    ...{ config: config.tracing, log: partOf(log, "tracing"), softwareVersion, nodeUuid },
  });
  // Below all that is traced.
  shutDown.add("tracing", SPARE_MS * 2, () => tracing?.close());
  const files = await openFiles({ sql, config, log: partOf(log, "files") });
  const shared = files && { sql, nodeUuid, files };
  let isHeld: (processUuid: string) => boolean = () => false;
  const uploads =
    shared &&
    new RecordingUploads({
      ...{ ...shared, dataDir: config.data_dir, log: partOf(log, "files") },
      isHeld: (uuid) => isHeld(uuid),
      onStoring: (row, path) => saveTimes(sql, row, path),
    });
  // Below media and processes: what they recorded last is stored.
  shutDown.add("files", FLUSH_MS + SPARE_MS, async () => {
    await uploads?.close();
    await files?.close();
  });
  const mediaDeps = { sql, config, log: partOf(log, "media"), node, nodeUuid, hubEntry, files };
  const mediaServer = await openMediaServer(mediaDeps, shutDown);
  const { hub: media, signer, recordings, elsewhere } = mediaServer;
  const hub = { rtspPort: media.rtspPort, signer };
  signal.throwIfAborted();
  const sources = await Sources.open({
    ...{ sql, config, log: partOf(log, "sources"), nodeUuid, probeEntry, confinement, media, elsewhere, signer, files },
  });
  shutDown.add("sources", SPARE_MS, () => sources.close());
  const library = await opening;
  signal.throwIfAborted();
  const metrics = new Metrics();
  const processRecordings = new ProcessRecordings(config.data_dir, shared);
  const detections = new StoredDetections({
    ...{ config, log: partOf(log, "detections"), nodeUuid, shared },
    hasSpace: () => recordings.trouble === null,
  });
  // Below the processes: their last messages are stored.
  shutDown.add("detections", SPARE_MS * 2, () => detections.close());
  let app: RunningApp | null = null;
  // Closed below the processes: while they stop it listens, and clients get the reason of a rejection.
  shutDown.add("api", API_CLOSE_MS + SPARE_MS, () => app?.close(API_CLOSE_MS));
  // Below the processes: their last notifications are kept.
  const outbox = await Outbox.open({
    ...{ sql, config, log: partOf(log, "delivery"), nodeUuid, softwareVersion },
    isAlone,
  });
  shutDown.add("delivery", SPARE_MS * 4, () => outbox.close());
  const eventLog = new EventLog({ sql, config, log: partOf(log, "events"), delivery: outbox });
  // Below the processes: their last events are numbered, if there is time, else by the next server.
  shutDown.add("events", SPARE_MS, () => eventLog.close());
  const tracks = new TrackLog({ sql, config: config.report, log: partOf(log, "tracks") });
  // Below the processes: their last notifications are kept.
  shutDown.add("tracks", SPARE_MS * 3, () => tracks.close());
  // Notifications are sent without a request that says how clients reach this server.
  const describeOwn = (uuid: string, row: EvidenceRow) =>
    describeEvidence(
      uuid,
      row,
      signer,
      trimUrl(config.public_url ?? app?.url ?? `http://localhost:${config.http.port}`),
    );
  let onNotices = (): void => {};
  const alerts = new Alerts({
    ...{ sql, config, log: partOf(log, "alerts"), delivery: outbox, alertTypes: knowledge.alertTypes },
    classNames: () => knowledge.classNames(),
    evidence: { config, nodeUuid, describe: describeOwn, onStored: () => onNotices() },
  });
  // Below the processes: their last alerts are sent.
  shutDown.add("alerts", SPARE_MS * 4, () => alerts.close());
  const webhooks = new Webhooks({ sql, config, log: partOf(log, "webhooks"), delivery: outbox });
  shutDown.add("webhooks", SPARE_MS * 3, () => webhooks.close());
  const modes = await RecordingModes.open(sql, partOf(log, "processes"));
  shutDown.add("recording modes", SPARE_MS, () => modes.close());
  const calibrations = new Calibrations({ sql, log: partOf(log, "telemetry") });
  shutDown.add("calibrations", SPARE_MS, () => calibrations.close());
  const models = await OwnModels.open({
    ...{ sql, config, installedNames: async () => (await knowledge.listModels()).map(({ name }) => name) },
    checker: new ModelChecker({
      ...{ entry: knowledge.modelCheckEntry, confinement, config: config.models, log: partOf(log, "models") },
    }),
  });
  const prepare = async (order: GraphOrder) =>
    library.prepare({ ...order, ownModels: order.userUuid ? await models.listUsable(order.userUuid) : [] });
  const openModels = (userUuid: string, names: readonly string[]) => models.open(userUuid, names);
  const processes = await Supervisor.open({
    ...{ sql, config, log: partOf(log, "processes"), node, runnerEntry, confinement, folders, metrics },
    listeners: [tracks, alerts, webhooks, detections, calibrations],
    ...{ prepare, openModels },
    routeOutput: routeOutputs({ media, network: config.network }),
    recordings: {
      isAllowed: () => config.recordings.enabled && recordings.trouble === null,
      segmentMs: config.recordings.segment_seconds * 1000,
      nextFile: (uuid) => processRecordings.nextFile(uuid),
      isWanted: (uuid) => modes.isWanted(uuid),
    },
    resolveInput: (userUuid, sourceUuid, how) => sources.resolveInput(userUuid, sourceUuid, how),
    hub: media,
  });
  recordings.connectPulled(new PulledSources(() => processes.all));
  isHeld = (uuid) => processes.held(uuid) !== null;
  shutDown.add("processes", PROCESS_LIMITS.stopMs * 2 + SPARE_MS, () => processes.close());
  const enhancements = new Enhancements({
    ...{ sql, config, log: partOf(log, "enhancement"), nodeUuid, entry: knowledge.enhancerEntry, confinement },
    isAlone,
  });
  shutDown.add("enhancements", SPARE_MS * 2, () => enhancements.close());
  const video = new SourceVideo({ sql, recordings, sources });
  const workFolders = await WorkFolders.open(config.data_dir, confinement);
  const thumbnails = new Thumbnails({
    ...{ entry: knowledge.thumbnailEntry, confinement, folders: workFolders, log: partOf(log, "clips") },
    memoryBytes: config.runners.memory_bytes,
  });
  shutDown.add("thumbnails", SPARE_MS, () => thumbnails.close());
  let cluster: Cluster | null = null;
  const readDetections = async function* (uuid: string, range: MessageRange) {
    const process = { uuid, nodeUuid: isAlone ? nodeUuid : await findLastNode(sql, uuid) };
    yield* detections.readAnywhere(process, range, (holder) => {
      if (cluster === null) throw new Error("other nodes cannot be asked yet");
      return cluster.readDetections(holder, uuid, range);
    });
  };
  const rendering = {
    ...{
      video,
      detections: { read: readDetections },
      runnerEntry,
      confinement,
      memoryBytes: config.runners.memory_bytes,
    },
    log: partOf(log, "clips"),
  };
  const clips = new ClipJobs({ ...rendering, sql, config, nodeUuid, isAlone, folders: workFolders, files });
  shutDown.add("clips", SPARE_MS * 2, () => clips.close());
  const recorded = new RecordedSources({
    ...{ sql, nodeUuid, recordings, processRecordings, clips, sources, isShared: files !== null },
  });
  const cutVideo: CutVideo = async ({ userUuid: uuid, sourceUuid }, range) => {
    const found = await video.find({ uuid }, sourceUuid, { ...range, isFile: true }, false);
    return found?.clip ?? new NeedsEncoding(await video.limit({ uuid }, sourceUuid, range));
  };
  onNotices = () => {
    evidence.wake();
    for (const applied of [recordings.apply(), modes.refresh()]) applied.catch(() => {}); // the next poll does it
  };
  const evidence = await Evidence.open({
    ...{ sql, config, log: partOf(log, "evidence"), nodeUuid, files, delivery: outbox, describe: describeOwn },
    ...{
      cut: cutEvidence(recordings, cutVideo, (sourceUuid) => recordings.whyNot(sourceUuid)),
      render: renderEvidence(rendering, workFolders),
      notify: (uuid, notice) => {
        const process = processes.held(uuid);
        if (process === null) void cluster?.notify(uuid, notice);
        else process.notify({ type: "alert", notice });
      },
    },
  });
  shutDown.add("evidence", SPARE_MS, () => evidence.close());
  const demo = new Demo({
    ...{ sql, config, log: partOf(log, "demo"), sources, processes },
    prepareClip: (options) => knowledge.prepareClip(options),
  });
  shutDown.add("demo", SPARE_MS, () => demo.close());
  const gate = new LoginGate(config.limits.failed_logins_per_minute);
  const { authenticate, renew } = new Authenticator(findKeyIn(sql, config), gate);
  const oidc = new Oidc({ sql, config: config.oidc, log: partOf(log, "api"), secret: mediaServer.signingKey });
  const stallMs = CLIENT_LIMITS.stalledMs;
  cluster = isAlone
    ? null
    : await openCluster({
        ...{ sql, config, log: partOf(log, "cluster"), node, processes, library, media, elsewhere, alerts },
        ...{ detections, stallMs },
      });
  shutDown.add("cluster", SPARE_MS, () => cluster?.close());
  const forwarder = cluster?.forwarder;
  const findSource: FindSourceOf = (kind, userUuid, uuid) => findSourceOf(sql, kind, userUuid, uuid);
  const expectSource = (user: User, uuid: string) => expectWithin({ user, kind: "process", uuid, find: findSource });
  const streams = new Streams({
    ...{ config: config.streams, eventClients: config.events.clients_per_key },
    ...{ processes, authenticate, expectSource, passOn: cluster?.passOn },
    findOwner: (uuid) => findOwner(sql, uuid, readLimits(config)),
    isSigned: (uuid, token) => signer.isGood(liveOf(uuid), token),
  });
  const checks = {
    database: health,
    media_hub: () => media.trouble,
    recordings: () => recordings.trouble,
    runners: () => processes.trouble,
    ...(files !== null && { storage: () => files.trouble }),
  };
  const components = () => checkHealth({ config, checks });
  const nodes = () =>
    Promise.all([node.list(), countWaiting(sql)]).then(
      ([rows, waiting]) => countNodes(rows, node.uuid, waiting),
      () => null,
    );
  const listModels = (userUuid: string) => models.listUsable(userUuid);
  const ownGraphs = new OwnGraphs({ sql, library, config, listModels });
  const graphTests = new GraphTests({
    ...{ sql, library, own: ownGraphs, sources, folders, runnerEntry, confinement, prepare, openModels },
    ...{ memoryBytes: config.runners.memory_bytes, log: partOf(log, "graphs"), config: config.graphs },
    checkAlerts: checkAlertsOf(knowledge.alertTypes),
    listModels: () => knowledge.listModels(),
    classNames: () => knowledge.classNames(),
  });
  shutDown.add("tests of graphs", SPARE_MS, () => graphTests.close());
  const endpoints = [
    ...informationEndpoints({ sql, softwareVersion, components, media }),
    ...keyEndpoints(sql, config, renew),
    ...signInEndpoints({ sql, oidc, sessionSeconds: config.oidc.session_seconds, gate }),
    ...sourceEndpoints(sql, sources),
    ...processEndpoints({ sql, processes, hub, recordings: processRecordings, recorded, forwarder }),
    ...calibrationEndpoints({ sql, processes, calibrations, forwarder }),
    ...streamEndpoints(streams, config.streams.viewers, { signer, seconds: config.media.url_seconds }),
    ...outputEndpoints({ sql, config, hub, processes }),
    ...branchEndpoints(processes),
    ...shadowEndpoints(processes),
    ...processRecordingEndpoints(sql, processRecordings, stallMs),
    ...detectionEndpoints({ sql, detections, stallMs, forwarder }),
    ...trackEndpoints({ sql, config: config.report, processes, tracks, stallMs }),
    ...trackedProcessEndpoints(sql, processRecordings, signer),
    ...enhancementEndpoints(sql, enhancements, tracks),
    ...alertEndpoints(alerts, processes),
    ...noticeEndpoints(sql, signer),
    ...evidenceEndpoints({ sql, evidence, files, nodeUuid, stallMs, forwarder }),
    ...webhookEndpoints({ sql, processes, delivery: outbox, webhooks }),
    ...eventEndpoints({ sql, config, log: eventLog, streams, delivery: outbox }),
    ...mediaEndpoints({ ...mediaServer, others: forwarder && { forwarder, node } }, { ...config, stallMs }),
    ...recordingEndpoints({ recordings, signer, stallMs, forwarder }),
    ...recordingSettingEndpoints(sql, recordings),
    ...processRecordingModeEndpoints(sql, modes),
    ...clipEndpoints({ video, thumbnails, clips, stallMs, forwarder }),
    ...clipJobEndpoints({ sql, clips, signer, stallMs, forwarder }),
    ...timelineEndpoints(sql),
    ...playerEndpoints,
    ...consoleEndpoints(knowledge.consoleFolder, config.public_url, mapTiles?.origins),
    ...mapEndpoints({ tiles: mapTiles, terrain: terrainTiles }),
    ...graphEndpoints({ library, own: ownGraphs, config }),
    ...graphTestEndpoints(graphTests),
    ...modelEndpoints({ own: models, listInstalled: () => knowledge.listModels() }),
    ...processGraphEndpoints({ library, processes, forwarder }),
    ...processUpgradeEndpoints(processes, sql),
    ...demoEndpoints(demo),
    ...nodeEndpoints({ sql, node, database: health }),
    ...metricsEndpoints({ config, metrics, components, processes, media, alerts, detections, delivery: outbox, nodes }),
  ];
  // Before anybody can ask for them: a process that should run is never found missing.
  const resumed = await processes.resumeAll();
  await enhancements.takeUp();
  const running = await listen({
    ...{ config, endpoints, authenticate, log: partOf(log, "api"), onUpgrade: streams.upgrade, sql },
    isSigned: (resource, token) => signer.isGood(resource, token),
    findSourceOf: findSource,
    observe: (answered) => metrics.observeRequest(answered),
    ...(forwarder !== undefined && { forwarder }),
    tracing,
  });
  app = running;
  await cluster?.announce({ httpPort: running.port, rtspPort: media.rtspPort });
  shutDown.add("streams", STREAM_LIMITS.closeMs + SPARE_MS, () => streams.close());
  shutDown.add("requests", SPARE_MS, () => running.rejectRequests());
  // Last: a key is shown once, and a start that failed after it was made would have lost it.
  signal.throwIfAborted();
  const firstKey = await createFirstKey(sql, config.bootstrap_key);
  log.info({ url: running.url, resumed, ms: Math.round(performance.now()) }, "ready");
  freeStartMemory();
  const url = trimUrl(config.public_url ?? running.url);
  const { hostname } = new URL(url);
  return {
    url,
    listen: running.url,
    rtsp: `rtsp://${hostname}:${media.rtspPort}`,
    rtmp: `rtmp://${hostname}:${media.rtmpPort}`,
    srt: `srt://${hostname}:${media.srtPort}`,
    firstKey: config.bootstrap_key === null ? firstKey : null,
    resumed,
    startDemo: (onStage) => demo.startFirst(onStage),
    stop: async () => {
      await cluster?.leave();
      return shutDown.run();
    },
  };
}

/** As clients reach it, without a slash at the end. */
const trimUrl = (url: string): string => url.replace(EVERY_ADDRESS, "//localhost:").replace(/(?<!\/)\/+$/, "");

const partOf = (log: Logger, part: string): Logger => log.child({ part });

const MOST_SHOWN = 10;

interface FoundTerrain {
  readonly folder: string;
  /** Of the finest file; null: there is none. */
  readonly spacingM: number | null;
}

/** What is in the folder is logged: runners use its files without a message. Throws `StartFault`. */
function readTerrain(folder: string | null, log: Logger): FoundTerrain | null {
  if (folder === null) return null;
  let terrain: TerrainFolder;
  try {
    terrain = new TerrainFolder(folder);
  } catch (cause) {
    throw new StartFault(`The terrain cannot be read (terrain.folder): ${(cause as Error).message}`, { cause });
  }
  const { size: files, unusable, spacingM } = terrain;
  log.info({ folder, files, unusable: unusable.length }, "terrain files listed");
  if (files === 0) log.warn({ folder }, "terrain folder has no usable files: level ground is assumed everywhere");
  for (const { file, reason } of unusable.slice(0, MOST_SHOWN)) log.warn({ file, reason }, "terrain file not usable");
  return { folder, spacingM };
}

async function openStore(config: Config, log: Logger, shutDown: ShutDown): Promise<Database> {
  const database = await openDatabase(config, log.child({ part: "database" }));
  // By its own signals, each given so long.
  shutDown.add("database", DATABASE_LIMITS.stopSeconds * 4000 + SPARE_MS, () => database.close());
  return database;
}

/** Closed above the database, below everything that publishes and plays. */
async function openMediaServer(parts: MediaServerDeps, shutDown: ShutDown): Promise<MediaServer> {
  try {
    const opened = await openMedia(parts);
    shutDown.add("media", HUB_LIMITS.stopMs + SPARE_MS, () => opened.close());
    return opened;
  } catch (cause) {
    if (!(cause instanceof HubFault)) throw cause;
    throw new StartFault(`The media server cannot be started (rtsp.port, rtmp.port, srt.port): ${cause.message}`, {
      cause,
    });
  }
}

/** One that is not open yet is not waited for: its threads and its child go with us. */
function openLibrary(knowledge: ServerKnowledge, config: Config, shutDown: ShutDown): Promise<GraphLibrary> {
  let library: GraphLibrary | null = null;
  const opening = GraphLibrary.open(knowledge, config).then((opened) => {
    library = opened;
    return opened;
  });
  opening.catch(() => {});
  shutDown.add("graphs", SPARE_MS, () => library?.close());
  return opening;
}

async function listen(parts: AppDeps): Promise<RunningApp> {
  try {
    return await startApp(parts);
  } catch (cause) {
    throw new StartFault((cause as Error).message, { cause });
  }
}
