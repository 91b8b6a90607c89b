/**
 * The configuration: `windhover.yaml` has these keys nested, the environment has `a.b_c` as
 * `WINDHOVER_A_B_C`. It contains every limit, timeout and size of the service.
 */
import { type Static, Type } from "typebox";

const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });
const seconds = (value: number, description: string, minimum = 0.1) =>
  Type.Number({ minimum, default: value, description: `${description} (seconds).` });
const count = (value: number, description: string, minimum = 0) =>
  Type.Integer({ minimum, default: value, description });
const list = (description: string) => Type.Array(Type.String(), { default: [], description });
const text = (value: string, description: string) => Type.String({ default: value, description });
const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { default: null, description });
/** Shown as `***`, or without its password. */
const secret = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { default: null, description, secret: true });
const port = (value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: value, description: `${description}; 0 selects a free port.` });

/** Exponential backoff. */
const restartDelays = (first: number, most: number, what: string) => ({
  restart_first_seconds: seconds(first, `Delay before the first restart ${what}; doubles with every restart`),
  restart_most_seconds: seconds(most, "Maximum delay between restarts"),
});
const retryDelays = (first: number, most: number, what: string) => ({
  retry_first_seconds: seconds(first, `Delay before the first retry ${what}; doubles with every retry`),
  retry_most_seconds: seconds(most, "Maximum delay between retries"),
});

export const Config = section({
  data_dir: text("./data", "Folder for videos, recordings and the private database."),
  public_url: nullable("Public base URL of the service, used in the URLs it returns: for use behind a proxy."),
  secrets: section({
    key: secret(
      "Encryption key for secrets in the database: 64 hexadecimal digits. To rotate it, list several, the new one first.",
    ),
    key_file: nullable(
      "File with the encryption key. If neither is set: `secrets.key` in `data_dir`, created at the first start.",
    ),
  }),
  bootstrap_key: secret("Master key to create at the first start on an empty database, instead of a random one."),
  http: section({
    host: text("127.0.0.1", "Address to listen on."),
    port: port(8080, "Port of the API"),
    tls_cert: nullable("File with the certificate chain (PEM)."),
    tls_key: nullable("File with the private key (PEM)."),
    cors_origins: list("Origins of web pages that may call the API (CORS); `*` for all."),
    trusted_proxies: list("Addresses or networks of proxies whose `X-Forwarded-*` headers are trusted."),
    body_bytes: count(262_144, "Maximum size of a JSON body, and of a graph.", 1024),
    request_seconds: seconds(30, "Time limit for receiving a request, except uploads"),
    idle_seconds: seconds(
      60,
      "Idle timeout of uploads with little or no progress, and of responses that the client does not read",
    ),
    close_seconds: seconds(5, "Grace period for open requests at shutdown"),
    metrics_open: Type.Boolean({
      default: false,
      description: "Allow `GET /metrics` without a key; otherwise it requires an operator key.",
    }),
    keep_alive_seconds: seconds(65, "Keep-alive timeout of an idle connection"),
    connections: count(
      4000,
      "Maximum number of connections. Beyond it, the longest idle or the slowest connection of the address with the most connections is closed.",
      1,
    ),
    connections_per_address: count(
      500,
      "Maximum number of connections per address (IPv6: /64); not for trusted proxies.",
      1,
    ),
    buffered_bytes: count(
      256 * 2 ** 20,
      "Maximum size of all responses that clients have not read yet; beyond it, the connections with the most data are closed.",
      2 ** 20,
    ),
    requests_per_key: count(256, "Maximum number of concurrent requests of one key, including streams.", 1),
    check_answers: Type.Boolean({
      default: false,
      description: "Validate every response against its schema: for tests.",
    }),
  }),
  rtsp: section({
    host: nullable("Address to listen on; default: the address of the API."),
    port: port(8554, "Port of the RTSP server, used in the URLs of outputs"),
  }),
  rtmp: section({
    host: nullable("Address to listen on; default: the address of the API."),
    port: port(1935, "Port of the RTMP server for publishing"),
  }),
  webrtc: section({
    addresses: list("Public addresses offered to browsers in addition to those of the machine."),
    port_first: port(0, "First UDP port of WebRTC"),
    port_last: port(0, "Last UDP port of WebRTC"),
    connect_seconds: seconds(5, "Time limit for connecting a WebRTC viewer"),
  }),
  media: section({
    hosts: list(
      "Further host names and addresses of this machine in `input_url`, besides those of `public_url` and the machine's own.",
    ),
    publishers: count(64, "Maximum number of published streams; outputs of processes do not count.", 1),
    publishers_per_key: count(32, "Maximum number of published streams per key.", 1),
    readers_per_stream: count(64, "Maximum number of players per stream.", 1),
    connections: count(1000, "Maximum number of connections to RTSP and RTMP together.", 1),
    connections_per_address: count(200, "Maximum number of connections to RTSP and RTMP from one address.", 1),
    hello_seconds: seconds(10, "Time limit for the first request on a connection"),
    frozen_seconds: seconds(5, "A publisher that sends no video is disconnected after"),
    keyless_seconds: seconds(
      30,
      "A publisher without a keyframe at its start or after packet loss is disconnected after",
    ),
    stalled_seconds: seconds(10, "A player that reads no data is disconnected after"),
    reader_bytes: count(8 * 2 ** 20, "Maximum queue of a player; beyond it, pictures are dropped.", 65_536),
    unit_bytes: count(8 * 2 ** 20, "Maximum size of a coded picture.", 65_536),
    cache_bytes: count(32 * 2 ** 20, "Maximum cache per stream from its last keyframe on.", 65_536),
    bytes_per_key: count(256 * 2 ** 20, "Maximum cache per key, and the same for its HLS segments.", 1_048_576),
    hls_idle_seconds: seconds(30, "HLS segmenting stops without requests after"),
    hls_bytes: count(64 * 2 ** 20, "Maximum size of a stream's HLS segments in memory.", 1_048_576),
    verdict_seconds: seconds(5, "Time limit for authorizing a publisher or player"),
    url_seconds: seconds(3600, "Validity of signed URLs for HLS, WebRTC and recordings", 1),
    watch_seconds: seconds(
      43_200,
      "Maximum duration of an HLS or WebRTC session before it must be authorized again",
      1,
    ),
    wrong_keys: count(5, "Number of wrong keys from one address after which its responses are delayed.", 1),
    wrong_key_seconds: seconds(3, "Delay of responses after too many wrong keys"),
    recheck_seconds: seconds(10, "Interval for checking the authorization of connected clients"),
    answer_seconds: seconds(15, "Timeout of HLS and WebRTC requests to the media hub"),
    load_seconds: seconds(20, "Time limit for the start of the media hub"),
    silent_seconds: seconds(10, "A media hub that sends no messages is restarted after", 2),
    ...restartDelays(0.1, 10, "of a crashed media hub"),
    stop_seconds: seconds(5, "Grace period before a stopping media hub is killed"),
  }),
  recordings: section({
    enabled: Type.Boolean({
      default: true,
      description: "Record published streams, and processes of keys with process recording.",
    }),
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 7,
      description: "Retention of recordings in days.",
    }),
    segment_seconds: seconds(600, "Duration of each file of a recording", 1),
    bytes_per_key: count(100 * 2 ** 30, "Maximum size of one key's recordings per machine; the oldest are removed.", 1),
    reserve_bytes: count(
      2 * 2 ** 30,
      "Minimum free disk space. Below it, the oldest recordings of the key with the most are removed; if that is not enough, recording stops.",
    ),
    sweep_seconds: seconds(30, "Interval for removing expired recordings", 1),
    disk_seconds: seconds(1, "Interval for checking the free disk space"),
  }),
  database: section({
    url: secret("URL of a PostgreSQL database; without it, a private one is started. Also set by `DATABASE_URL`."),
    connections: count(10, "Maximum number of database connections.", 2),
    start_seconds: seconds(30, "Time limit for the start of the database"),
    stop_seconds: seconds(5, "Grace period before the private database is killed"),
    statement_seconds: seconds(10, "Timeout of a statement"),
    wait_seconds: seconds(5, "Time that a statement waits while the database restarts"),
    ...restartDelays(0.1, 10, "of the crashed private database"),
  }),
  limits: section({
    processes: count(4, "Maximum number of active processes per key."),
    sources: count(100, "Maximum number of registered sources per key."),
    outputs_registered: count(100, "Maximum number of registered outputs per key."),
    outputs_active: count(8, "Maximum number of attached outputs per key."),
    alerts: count(100, "Maximum number of alerts per key, including one-off alerts of processes."),
    subscriptions: count(1000, "Maximum number of webhook subscriptions per key, for all its processes."),
    video_bytes: count(500 * 2 ** 20, "Maximum size of an uploaded video."),
    storage_bytes: count(10 * 2 ** 30, "Maximum size of all uploaded videos of a key."),
    requests_per_minute: count(1200, "Maximum number of requests per minute and key.", 1),
    failed_logins_per_minute: count(20, "Maximum number of wrong keys per minute from one address.", 1),
  }),
  runners: section({
    start_seconds: seconds(5, "Time limit for the start of a process"),
    load_seconds: seconds(30, "Time limit for loading a runner"),
    stop_seconds: seconds(5, "Grace period before a stopping runner is killed"),
    reply_seconds: seconds(10, "Timeout of requests to a runner"),
    silent_seconds: seconds(15, "A runner that sends no messages is restarted after", 2),
    memory_bytes: count(2 * 2 ** 30, "Maximum memory of a runner; beyond it, the runner is restarted.", 2 ** 27),
    user: nullable(
      "User of runners, probes and the enhancer if the service is started as root. It must be able to read the installation and the models.",
    ),
    readable: list("Further folders that runners may read: videos for the operator's graphs."),
    writable: list("Further folders that runners may write: recordings of the operator's graphs."),
    spare: count(1, "Number of runners that are loaded in advance, for a quick start."),
    parallel: count(2, "Number of processes that start concurrently; new processes before restarts.", 1),
    restarts: count(5, "Number of crashes within `restart_window_seconds` after which a process fails.", 0),
    restart_window_seconds: seconds(300, "Time window for `restarts`"),
    ...restartDelays(0.5, 30, "of a crashed runner"),
  }),
  reconnect: section({
    give_up_seconds: seconds(300, "Time to reconnect to a lost live source before the process fails"),
    lookup_seconds: seconds(10, "Interval for resolving the host name of an unreachable live source"),
  }),
  streams: section({
    ping_seconds: seconds(20, "Ping interval of websockets"),
    queued_messages: count(256, "Maximum queue of a websocket client in messages; the oldest are dropped.", 1),
    queued_bytes: count(4 * 2 ** 20, "Maximum queue of a websocket client in bytes.", 1024),
    telemetry_bytes: count(65_536, "Maximum size of a telemetry message from a websocket client.", 256),
    received_per_second: count(200, "Maximum number of messages per second from a websocket client.", 1),
    close_seconds: seconds(2, "Grace period for the closing handshake of a websocket"),
    feed_stall_seconds: seconds(10, "A feed viewer that reads no data is disconnected after"),
    viewers: count(1_000, "Maximum number of viewers of feeds and events per process.", 1),
    viewers_per_key: count(200, "Maximum number of viewers of feeds and events per key, for all its processes.", 1),
  }),
  telemetry: section({
    messages_per_second: count(50, "Maximum number of messages per second and process; the newest are used.", 1),
    message_bytes: count(65_536, "Maximum size of a telemetry message from a broker.", 256),
    stale_seconds: seconds(3, "Telemetry is stale without a message for"),
    connect_seconds: seconds(10, "Timeout of connecting to a broker"),
    keepalive_seconds: seconds(15, "MQTT keep-alive interval", 1),
    ...retryDelays(0.5, 15, "for an unreachable broker"),
  }),
  report: section({
    flush_seconds: seconds(1, "Interval for storing tracks"),
    queued_tracks: count(20_000, "Maximum queue for the database in tracks; the oldest are dropped.", 1),
    queued_points: count(100_000, "Maximum queue for the database in track points.", 1),
    queued_patch_bytes: count(64 * 1024 * 1024, "Maximum queue in bytes of track images; the oldest are dropped.", 0),
    window_minutes: Type.Integer({
      minimum: 1,
      maximum: 1440,
      default: 5,
      description:
        "Time window in minutes of the report of a running process; the report of a finished process covers all.",
    }),
    batch_points: count(5_000, "Maximum number of points and tracks that are stored or removed in one batch.", 1),
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 7,
      description: "Retention of tracks, their points and images in days, also for running processes.",
    }),
    sweep_seconds: seconds(600, "Interval for removing expired tracks", 1),
    ...retryDelays(0.2, 5, "while the database is unavailable"),
  }),
  delivery: section({
    queued: count(10_000, "Maximum queue of a receiver in notifications; the oldest are dropped and counted.", 1),
    queued_per_key: count(50_000, "Maximum queue of one key in notifications; the oldest are dropped.", 1),
    queued_bytes_per_key: count(256 * 2 ** 20, "Maximum queue of one key in bytes.", 65_536),
    body_bytes: count(1_048_576, "Maximum size of a notification; a larger one is dropped and counted.", 1024),
    at_once: count(32, "Maximum number of concurrent webhook requests, and of concurrent broker topics.", 2),
    in_flight: count(100, "Maximum number of notifications per topic that the broker has not acknowledged.", 1),
    connect_seconds: seconds(5, "Timeout of connecting to a receiver"),
    answer_seconds: seconds(15, "Timeout of a webhook's response, and of a broker's acknowledgement"),
    answer_bytes: count(65_536, "Maximum number of bytes to read from a webhook's response.", 1024),
    keepalive_seconds: seconds(15, "MQTT keep-alive interval", 1),
    idle_seconds: seconds(30, "Idle time after which a broker is disconnected"),
    webhook_seconds: seconds(600, "Time to retry a notification that a webhook rejects, before the next one is sent"),
    ...retryDelays(0.5, 30, "for an unreachable receiver"),
    lease_seconds: seconds(15, "Lease of a receiver; afterwards another machine takes over", 1),
    look_seconds: seconds(2, "Interval for taking over receivers of other machines"),
  }),
  alerts: section({
    queued_notices: count(10_000, "Maximum queue for the database in notifications; the oldest are dropped.", 1),
    queued_bytes: count(64 * 2 ** 20, "Maximum queue for the database in bytes.", 65_536),
    batch_notices: count(100, "Maximum number of notifications that are stored in one batch.", 1),
    ...retryDelays(0.1, 5, "while the database is unavailable"),
    refresh_seconds: seconds(1, "Interval for loading changes of other machines"),
    apply_seconds: seconds(5, "Time limit for applying a change to running processes"),
    sweep_seconds: seconds(30, "Interval for cleaning up after ended processes", 1),
  }),
  enhancement: section({
    at_once: count(1, "Maximum number of reports that are enhanced concurrently on this machine.", 1),
    batch_tracks: Type.Integer({
      ...{ minimum: 1, maximum: 32, default: 16 },
      description: "Number of tracks that are enhanced and stored in one batch.",
    }),
    load_seconds: seconds(30, "Time limit for loading the enhancer"),
    track_seconds: seconds(30, "Time limit for enhancing one track", 1),
    memory_bytes: count(2 ** 30, "Maximum memory of the enhancer; beyond it, the enhancer is restarted.", 2 ** 27),
    restarts: count(3, "Number of consecutive crashes without progress after which an enhancement fails."),
    ...restartDelays(0.5, 15, "of the crashed enhancer"),
  }),
  demo: section({
    clip: nullable("Video file for the demo instead of its street scene; played at 10 fps."),
  }),
  webhooks: section({
    gather_seconds: seconds(0.1, "Minimum interval for storing the events of subscriptions", 0.01),
    ...retryDelays(0.2, 5, "while the database is unavailable"),
    sweep_seconds: seconds(60, "Interval for removing subscriptions of ended processes", 1),
    test_seconds: seconds(10, "Time limit of `POST /subscriptions/{process_uuid}/test`"),
  }),
  usage: section({ flush_seconds: seconds(5, "Interval for storing the used minutes") }),
  node: section({
    lease_seconds: seconds(15, "Lease of a machine's processes; afterwards another machine takes over"),
    renew_seconds: seconds(4, "Interval for renewing leases"),
  }),
  network: section({
    deny: list(
      "Networks to which connections are never made, in addition to link-local and cloud-metadata networks: `10.0.0.0/8`.",
    ),
    allow: list(
      "Networks that clients may use in any URL although they are blocked by default: loopback, this machine's own addresses, private, shared (100.64.0.0/10) and reserved networks. `deny` has precedence.",
    ),
    allow_devices: Type.Array(Type.String(), {
      default: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"],
      description:
        "Networks that clients may also use for sources, outputs and brokers, because cameras are usually in private networks; webhooks cannot reach these. Set `[]` if you do not trust your tenants.",
    }),
    resolve_seconds: seconds(3, "Timeout of resolving a host name"),
  }),
  uploads: section({
    at_once: count(4, "Maximum number of concurrent uploads per key.", 1),
    probe_seconds: seconds(20, "Time limit for probing an upload"),
    probe_memory_bytes: count(2 ** 30, "Maximum memory of a probe.", 2 ** 27),
    probes_at_once: count(2, "Maximum number of concurrent probes; others wait.", 1),
    least_bytes: count(65_536, "Minimum progress of an upload within `http.idle_seconds`.", 1),
    step_bytes: count(8 * 2 ** 20, "Step in which storage is reserved for an upload of unknown length.", 65_536),
  }),
  graphs: section({
    compile_seconds: seconds(5, "Time limit for compiling a graph"),
    compile_bytes: count(128 * 2 ** 20, "Maximum memory for compiling a graph.", 2 ** 25),
    queued: count(32, "Maximum number of graphs that wait for compilation.", 1),
    queued_per_key: count(4, "Maximum number of waiting graphs per key; keys are served in turn.", 1),
    idle_seconds: seconds(60, "Idle time after which the compiler for graphs of clients is unloaded"),
    try_seconds: seconds(60, "Maximum run time of a graph started with `POST /graphs/try`", 1),
  }),
  disk: section({ reserve_bytes: count(2 ** 30, "Minimum free disk space for uploads.") }),
  log: section({
    level: Type.Union(
      [
        Type.Literal("fatal"),
        Type.Literal("error"),
        Type.Literal("warn"),
        Type.Literal("info"),
        Type.Literal("debug"),
        Type.Literal("trace"),
      ],
      { default: "info", description: "Minimum level of log messages." },
    ),
    access: Type.Boolean({ default: true, description: "Write one log line per request." }),
  }),
});
export type Config = Static<typeof Config>;
