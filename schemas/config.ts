/**
 * Everything that can be configured, once: `windhover.yaml` has these keys nested, the environment has `a.b_c` as
 * `WINDHOVER_A_B_C`. Every limit, wait and size of the service is here.
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
/** Shown as `***`, or with its password taken out. */
const secret = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { default: null, description, secret: true });
const port = (value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: value, description: `${description}; 0 for any that is free.` });

export const Config = section({
  data_dir: text("./data", "Where videos, recordings and the private database are kept."),
  public_url: nullable("What clients reach us at, put into URLs that are handed out: for use behind a proxy."),
  secrets: section({
    key: secret(
      "The key that secrets in the database are sealed with: 64 hexadecimal digits. Several, to change it: the new one first.",
    ),
    key_file: nullable(
      "A file that holds it instead. Where neither is set: `secrets.key` in `data_dir`, made by the first start.",
    ),
  }),
  bootstrap_key: secret("The master key that the first start on an empty database makes, instead of a random one."),
  http: section({
    host: text("127.0.0.1", "The address to listen on."),
    port: port(8080, "Of the API"),
    tls_cert: nullable("A file with the certificate chain, PEM."),
    tls_key: nullable("A file with its private key, PEM."),
    cors_origins: list("Origins of web pages that may call the API; `*` for all."),
    trusted_proxies: list("Addresses or networks whose `X-Forwarded-*` headers are believed."),
    body_bytes: count(262_144, "A JSON body may be so large, and so may a graph.", 1024),
    request_seconds: seconds(30, "A request, uploads apart, must have arrived"),
    idle_seconds: seconds(
      60,
      "An upload of which nothing or too little arrives, or an answer that the client does not read, is given up after",
    ),
    close_seconds: seconds(5, "At the shut-down, requests under way may take"),
    metrics_open: Type.Boolean({
      default: false,
      description: "`GET /metrics` needs no key; else it needs an operator's key.",
    }),
    keep_alive_seconds: seconds(65, "A connection on which nothing is asked is closed after"),
    connections: count(
      4000,
      "Connections at most. For one more, the longest idle or the slowest one of the address that has most is closed.",
      1,
    ),
    connections_per_address: count(
      500,
      "Connections from one address (IPv6: one /64 network); trusted proxies have no such limit.",
      1,
    ),
    buffered_bytes: count(
      256 * 2 ** 20,
      "Bytes of answers that clients have not taken yet, of all connections; beyond this the largest are closed.",
      2 ** 20,
    ),
    requests_per_key: count(256, "Requests of one key that are under way at the same time, streams included.", 1),
    check_answers: Type.Boolean({ default: false, description: "Every answer is held against its schema: for tests." }),
  }),
  rtsp: section({
    host: nullable("The address to listen on; that of the API where it is not given."),
    port: port(8554, "Of the RTSP server, put into the addresses of outputs"),
  }),
  rtmp: section({
    host: nullable("The address to listen on; that of the API where it is not given."),
    port: port(1935, "Of the RTMP server, to which streams are published"),
  }),
  webrtc: section({
    addresses: list("Addresses told to browsers besides those of the machine: what it is reached at from outside."),
    port_first: port(0, "The first UDP port of WebRTC"),
    port_last: port(0, "The last UDP port of WebRTC"),
    connect_seconds: seconds(5, "A viewer by WebRTC must be connected"),
  }),
  media: section({
    hosts: list(
      "Names and addresses by which clients call this machine in `input_url`, besides those of `public_url` and the machine's own.",
    ),
    publishers: count(64, "Streams that are published at once; outputs of processes do not count.", 1),
    publishers_per_key: count(32, "The same with one key.", 1),
    readers_per_stream: count(64, "Players of one stream.", 1),
    connections: count(1000, "Connections at once to RTSP and RTMP together.", 1),
    connections_per_address: count(200, "The same from one address.", 1),
    hello_seconds: seconds(10, "Whoever connects must have said what for"),
    frozen_seconds: seconds(5, "A publisher from which no picture comes at all is let go after"),
    keyless_seconds: seconds(30, "A publisher without a key picture to begin or to go on with is let go after"),
    stalled_seconds: seconds(10, "A player that takes nothing is let go after"),
    reader_bytes: count(8 * 2 ** 20, "Bytes that may wait for a player; more cost it pictures.", 65_536),
    unit_bytes: count(8 * 2 ** 20, "One coded picture.", 65_536),
    cache_bytes: count(32 * 2 ** 20, "Pictures since the last key frame, kept for players that join.", 65_536),
    bytes_per_key: count(
      256 * 2 ** 20,
      "The same for all streams of one key together, and as much again for the segments of their HLS.",
      1_048_576,
    ),
    hls_idle_seconds: seconds(30, "HLS that nobody asks for is not made any more after"),
    hls_bytes: count(64 * 2 ** 20, "The newest segments of one stream's HLS, kept in memory.", 1_048_576),
    verdict_seconds: seconds(5, "Whom to let in must be known"),
    url_seconds: seconds(3600, "Signed addresses of HLS, WebRTC and recordings are good for", 1),
    watch_seconds: seconds(43_200, "Whoever has begun to watch by HLS or WebRTC may go on without asking again for", 1),
    wrong_keys: count(5, "Wrong keys from one address after which it is answered slowly.", 1),
    wrong_key_seconds: seconds(3, "An address that is answered slowly waits"),
    recheck_seconds: seconds(10, "Whether those who were let in may stay is looked at every"),
    answer_seconds: seconds(15, "The media hub must answer what HLS and WebRTC ask of it"),
    load_seconds: seconds(20, "The media hub must listen"),
    silent_seconds: seconds(10, "A media hub that says nothing is started again after", 2),
    restart_first_seconds: seconds(0.1, "A media hub that crashed is started again after; twice as long each time"),
    restart_most_seconds: seconds(10, "But after no more than"),
    stop_seconds: seconds(5, "A stopping media hub may take; then it is killed"),
  }),
  recordings: section({
    enabled: Type.Boolean({
      default: true,
      description: "Streams that are published here are recorded, and processes of keys that have that.",
    }),
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 7,
      description: "Recordings are kept for so many days.",
    }),
    segment_seconds: seconds(600, "A recording is cut into files of", 1),
    bytes_per_key: count(
      100 * 2 ** 30,
      "Recordings of one key, of streams and processes together, on one machine; more cost it the oldest.",
      1,
    ),
    reserve_bytes: count(
      2 * 2 ** 30,
      "Below this free space the oldest recordings of the key that has the most are removed; if that does not help, recording stops.",
    ),
    sweep_seconds: seconds(30, "Recordings that are too old are looked for every", 1),
    disk_seconds: seconds(1, "The free space is looked at every"),
  }),
  database: section({
    url: secret("Of a PostgreSQL; without it a private one is started. Also as `DATABASE_URL`."),
    connections: count(10, "Connections at most.", 2),
    start_seconds: seconds(30, "A database must be up"),
    stop_seconds: seconds(5, "The private database may take to shut down, before it is pressed"),
    statement_seconds: seconds(10, "A statement may take"),
    wait_seconds: seconds(5, "A statement waits for a database that is being restarted"),
    restart_first_seconds: seconds(
      0.1,
      "A private database that crashed is started again after; twice as long each time",
    ),
    restart_most_seconds: seconds(10, "But after no more than"),
  }),
  limits: section({
    processes: count(4, "Active processes of a key."),
    sources: count(100, "Registered sources of a key."),
    outputs_registered: count(100, "Registered outputs of a key."),
    outputs_active: count(8, "Attached outputs of a key."),
    alerts: count(100, "Alerts of a key, those of single processes included."),
    subscriptions: count(1000, "Subscriptions of a key, to all its processes together."),
    video_bytes: count(500 * 2 ** 20, "One uploaded video."),
    storage_bytes: count(10 * 2 ** 30, "All uploaded videos of a key."),
    requests_per_minute: count(1200, "Requests of a key.", 1),
    failed_logins_per_minute: count(20, "Wrong keys from one address.", 1),
  }),
  runners: section({
    start_seconds: seconds(5, "A start must be answered"),
    load_seconds: seconds(30, "A new runner must be loaded"),
    stop_seconds: seconds(5, "A stopping runner may take; then it is killed"),
    reply_seconds: seconds(10, "A runner must answer"),
    silent_seconds: seconds(15, "A running runner that says nothing is restarted after", 2),
    memory_bytes: count(2 * 2 ** 30, "A runner that grows beyond this is restarted.", 2 ** 27),
    user: nullable(
      "User that runners, probes and the enhancer run as when the service is started as root. It must be able to read the installation and the models.",
    ),
    readable: list("Folders that runners may read besides their own: videos that graphs of the operator open."),
    writable: list("Folders that runners may write to besides their own: where graphs of the operator record to."),
    spare: count(1, "Runners that are loaded ahead, so that a start is quick."),
    parallel: count(2, "Processes that are started at the same time; new ones before those that are started again.", 1),
    restarts: count(5, "Crashes within `restart_window_seconds` after which a process has failed.", 0),
    restart_window_seconds: seconds(300, "See `restarts`"),
    restart_first_seconds: seconds(0.5, "A crashed runner is started again after; twice as long each time"),
    restart_most_seconds: seconds(30, "But after no more than"),
  }),
  reconnect: section({
    give_up_seconds: seconds(300, "A live source that drops is tried again for"),
    lookup_seconds: seconds(10, "While a live source is away, its name is looked up again every"),
  }),
  streams: section({
    ping_seconds: seconds(20, "Websockets are pinged every"),
    queued_messages: count(256, "Messages that may wait for a websocket client; more cost the oldest.", 1),
    queued_bytes: count(4 * 2 ** 20, "The same in bytes.", 1024),
    telemetry_bytes: count(65_536, "One telemetry message from a websocket client.", 256),
    received_per_second: count(200, "Messages taken from a websocket client in a second; more are refused.", 1),
    close_seconds: seconds(2, "A websocket client may take to say good-bye"),
    feed_stall_seconds: seconds(10, "A feed viewer that takes nothing is let go after"),
    viewers: count(1_000, "Viewers of feeds and events of one process; a bound that only abuse reaches.", 1),
    viewers_per_key: count(200, "Viewers of feeds and events of all processes that one key opens at once.", 1),
  }),
  telemetry: section({
    messages_per_second: count(
      50,
      "Telemetry messages of a process that are used in a second; of more the newest are.",
      1,
    ),
    message_bytes: count(65_536, "One telemetry message from a broker.", 256),
    stale_seconds: seconds(3, "Telemetry counts as stale when nothing has come for"),
    connect_seconds: seconds(10, "A broker must answer"),
    keepalive_seconds: seconds(15, "A broker is asked whether it is still there every", 1),
    retry_first_seconds: seconds(0.5, "A broker that is away is tried again after; twice as long each time"),
    retry_most_seconds: seconds(15, "But after no more than"),
  }),
  report: section({
    flush_seconds: seconds(1, "What was seen of tracks is written down every"),
    queued_tracks: count(20_000, "Tracks that may wait for the database; more cost the oldest.", 1),
    queued_points: count(100_000, "The same in points of their paths.", 1),
    queued_patch_bytes: count(
      64 * 1024 * 1024,
      "The same in bytes of pictures of tracks; more cost the oldest pictures.",
      0,
    ),
    window_minutes: Type.Integer({
      minimum: 1,
      maximum: 1440,
      default: 5,
      description:
        "The report of a process that runs tells of the last so many minutes; that of a finished one of all.",
    }),
    batch_points: count(5_000, "Points that are written down at once, and tracks; and removed.", 1),
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 7,
      description: "Tracks, their paths and their pictures are kept for so many days, also of processes that run.",
    }),
    sweep_seconds: seconds(600, "Those that are older are removed every", 1),
    retry_first_seconds: seconds(0.2, "While the database is away it is tried again after; twice as long each time"),
    retry_most_seconds: seconds(5, "But after no more than"),
  }),
  delivery: section({
    queued: count(10_000, "Notices that may wait for one receiver; more cost the oldest, and are counted.", 1),
    queued_per_key: count(
      50_000,
      "Notices that may wait for all receivers of one key together; more cost its oldest.",
      1,
    ),
    queued_bytes_per_key: count(256 * 2 ** 20, "The same in bytes.", 65_536),
    body_bytes: count(1_048_576, "One notice; a larger one is not kept, and counted.", 1024),
    at_once: count(32, "Requests to webhooks that are under way at the same time, and as many topics of brokers.", 2),
    in_flight: count(100, "Notices on their way to a topic of a broker that it has not confirmed yet.", 1),
    connect_seconds: seconds(5, "A receiver must be connected to"),
    answer_seconds: seconds(15, "A webhook must have answered, a broker have confirmed what it was sent"),
    answer_bytes: count(65_536, "So much of what a webhook answers is read.", 1024),
    keepalive_seconds: seconds(15, "A broker is asked whether it is still there every", 1),
    idle_seconds: seconds(30, "A broker to which nothing goes is disconnected from after"),
    webhook_seconds: seconds(600, "What a webhook does not take is tried again for; then comes the next"),
    retry_first_seconds: seconds(0.5, "A receiver that is away is tried again after; twice as long each time"),
    retry_most_seconds: seconds(30, "But after no more than"),
    lease_seconds: seconds(15, "Receivers of a machine that has been silent for so long are another's", 1),
    look_seconds: seconds(2, "What others have left is looked for every"),
  }),
  alerts: section({
    queued_notices: count(10_000, "Notices that may wait for the database; more cost the oldest.", 1),
    queued_bytes: count(64 * 2 ** 20, "The same in bytes.", 65_536),
    batch_notices: count(100, "Notices that are written down at once.", 1),
    retry_first_seconds: seconds(0.1, "While the database is away it is tried again after; twice as long each time"),
    retry_most_seconds: seconds(5, "But after no more than"),
    refresh_seconds: seconds(1, "What other machines have changed is looked for every"),
    apply_seconds: seconds(5, "A change must have reached the running processes"),
    sweep_seconds: seconds(30, "What processes that have ended left behind is looked for every", 1),
  }),
  enhancement: section({
    at_once: count(1, "Reports that are enhanced at the same time on this machine; others wait.", 1),
    batch_tracks: Type.Integer({
      ...{ minimum: 1, maximum: 32, default: 16 },
      description: "Tracks that are handed out and written down at once.",
    }),
    load_seconds: seconds(30, "What enhances tracks must be loaded"),
    track_seconds: seconds(30, "One track may take", 1),
    memory_bytes: count(2 ** 30, "What enhances tracks is started again when it takes more memory.", 2 ** 27),
    restarts: count(3, "Crashes in a row, without a track that was done, after which an enhancement has failed."),
    restart_first_seconds: seconds(0.5, "After a crash it goes on after; twice as long each time"),
    restart_most_seconds: seconds(15, "But after no more than"),
  }),
  demo: section({
    clip: nullable("A video file that the demo shows instead of its street; at 10 frames a second."),
    prepare_seconds: seconds(900, "Its clip, fetched and converted when it is first asked for, must be there", 1),
    start_seconds: seconds(60, "Then its process must run", 1),
    restart_first_seconds: seconds(
      0.5,
      "A clip that is not published any more is published again after; twice as long each time",
    ),
    restart_most_seconds: seconds(30, "But after no more than"),
  }),
  webhooks: section({
    gather_seconds: seconds(0.1, "What was gathered for subscriptions is written down at most every", 0.01),
    retry_first_seconds: seconds(0.2, "While the database is away it is tried again after; twice as long each time"),
    retry_most_seconds: seconds(5, "But after no more than"),
    sweep_seconds: seconds(60, "Subscriptions of processes that ended unseen are looked for every", 1),
    test_seconds: seconds(10, "`POST /subscriptions/{process_uuid}/test` answers within"),
  }),
  usage: section({ flush_seconds: seconds(5, "Minutes used are written down every") }),
  node: section({
    lease_seconds: seconds(15, "What a machine claimed is free again after it has been silent for"),
    renew_seconds: seconds(4, "Claims are renewed every"),
  }),
  network: section({
    deny: list("Networks that are never connected to, beyond link-local and cloud-metadata ones: `10.0.0.0/8`."),
    allow: list(
      "Networks that clients may name in any address although they are closed by default: loopback, this machine's own addresses, private, shared (100.64.0.0/10) and reserved networks. `deny` wins.",
    ),
    allow_devices: Type.Array(Type.String(), {
      default: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"],
      description:
        "The same for sources, outputs and brokers alone, because cameras are usually in private networks; webhooks do not reach them. `[]` where tenants are strangers.",
    }),
    resolve_seconds: seconds(3, "A name that is not resolved counts as one that leads nowhere after"),
  }),
  uploads: section({
    at_once: count(4, "Uploads of a key at the same time.", 1),
    probe_seconds: seconds(20, "Whether an upload is a video must be known"),
    probe_memory_bytes: count(2 ** 30, "Finding that out may take so much memory.", 2 ** 27),
    probes_at_once: count(2, "So many videos are looked at at the same time; others wait.", 1),
    least_bytes: count(65_536, "Less of an upload than this within `http.idle_seconds` is as good as nothing.", 1),
    step_bytes: count(8 * 2 ** 20, "Room for an upload of unknown length is taken in such steps.", 65_536),
  }),
  graphs: section({
    compile_seconds: seconds(5, "A graph must be compiled"),
    compile_bytes: count(128 * 2 ** 20, "Compiling may take so much memory.", 2 ** 25),
    queued: count(32, "Graphs that may wait to be compiled.", 1),
    queued_per_key: count(4, "The same of one key; keys take turns.", 1),
    idle_seconds: seconds(60, "What compiles graphs that are not installed is unloaded when it was not needed for"),
    try_seconds: seconds(60, "A graph that is tried ends by itself after", 1),
  }),
  disk: section({ reserve_bytes: count(2 ** 30, "Uploads are refused when less than this is free.") }),
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
      { default: "info", description: "What is logged." },
    ),
    access: Type.Boolean({ default: true, description: "One line for every request." }),
  }),
});
export type Config = Static<typeof Config>;
