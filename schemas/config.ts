/**
 * The configuration: `windhover.yaml` has these keys nested, the environment has `a.b_c` as
 * `WINDHOVER_A_B_C`. It contains what an operator may want to change; other limits are constants beside their code.
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
    metrics_open: Type.Boolean({
      default: false,
      description: "Allow `GET /metrics` without a key; otherwise it requires an operator key.",
    }),
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
    requests_per_key: count(256, "Maximum number of concurrent requests of one key, including streams.", 1),
    check_answers: Type.Boolean({
      default: false,
      description: "Validate every response against its schema: for tests.",
    }),
  }),
  rtsp: section({
    host: nullable("Address to listen on; default: the address of the API."),
    port: port(8554, "Port of the RTSP server, used in the URLs of outputs"),
    tls_port: port(8322, "Port of RTSPS, which is open if `http.tls_cert` is set"),
  }),
  rtmp: section({
    host: nullable("Address to listen on; default: the address of the API."),
    port: port(1935, "Port of the RTMP server for publishing"),
    tls_port: port(1936, "Port of RTMPS, which is open if `http.tls_cert` is set"),
  }),
  srt: section({
    host: nullable("Address to listen on; default: the address of the API."),
    port: port(8890, "UDP port of the SRT server for publishing and playing"),
    latency_ms: Type.Integer({
      minimum: 120,
      maximum: 8000,
      default: 200,
      description:
        "Time for lost packets to be sent again, in milliseconds; a caller may ask for more. At least three times the round trip.",
    }),
    passphrase: secret(
      "Passphrase of the encryption of all SRT connections to this service, 10 to 79 characters; callers without it are rejected. Without it, SRT is not encrypted. The stream id, with the key in it, is never encrypted.",
    ),
  }),
  webrtc: section({
    addresses: list("Public addresses offered to browsers in addition to those of the machine."),
    port_first: port(0, "First UDP port of WebRTC"),
    port_last: port(0, "Last UDP port of WebRTC"),
  }),
  media: section({
    hosts: list(
      "Further host names and addresses of this machine in `input_url`, besides those of `public_url` and the machine's own.",
    ),
    publishers: count(64, "Maximum number of published streams; outputs of processes do not count.", 1),
    publishers_per_key: count(32, "Maximum number of published streams per key.", 1),
    readers_per_stream: count(64, "Maximum number of players per stream.", 1),
    connections: count(1000, "Maximum number of connections to RTSP, RTMP and SRT together.", 1),
    connections_per_address: count(200, "Maximum number of connections to RTSP, RTMP and SRT from one address.", 1),
    source_ports: list(
      "UDP ports that sources may listen on, `5000` or `5000-5010`: for `udp://`, and `srt://` with `mode=listener`. All keys share them; each port receives for one process at a time. Empty: such sources are rejected.",
    ),
    frozen_seconds: seconds(5, "A publisher that sends no video is disconnected after"),
    bytes_per_key: count(256 * 2 ** 20, "Maximum cache per key, and the same for its HLS segments.", 1_048_576),
    url_seconds: seconds(3600, "Validity of signed URLs for HLS, WebRTC and recordings", 1),
    watch_seconds: seconds(
      43_200,
      "Maximum duration of an HLS or WebRTC session before it must be authorized again",
      1,
    ),
  }),
  recordings: section({
    enabled: Type.Boolean({
      default: true,
      description:
        "Record published streams, and processes of keys with process recording; store the detections of all processes.",
    }),
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 7,
      description: "Retention of recordings in days.",
    }),
    segment_seconds: seconds(600, "Duration of each file of a recording", 1),
    on_alert_seconds: seconds(30, "Duration of a recording after a notice, for sources that are recorded on alert", 1),
    ring_bytes_per_key: count(
      2 ** 30,
      "Maximum size of the last seconds that are kept of one key's streams that are not recorded, for pre-roll and evidence of alerts.",
    ),
    bytes_per_key: count(
      100 * 2 ** 30,
      "Maximum size of one key's recordings per machine, and in the bucket; the oldest are removed.",
      1,
    ),
    reserve_bytes: count(
      2 * 2 ** 30,
      "Minimum free disk space. Below it, the oldest recordings of the key with the most are removed; if that is not enough, recording stops.",
    ),
  }),
  storage: section({
    s3: section({
      endpoint: nullable(
        "URL of an S3-compatible service: `https://minio.example:9000`. Default: Amazon S3 in `storage.s3.region`.",
      ),
      bucket: nullable(
        "Bucket for uploaded videos and recordings, which all nodes share; without it they stay in `data_dir`. Credentials are those of the AWS SDK: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a profile, or the role of the machine.",
      ),
      region: text("us-east-1", "Region of the bucket."),
      prefix: text("", "Beginning of every key in the bucket: `windhover/`."),
      path_style: Type.Boolean({
        default: false,
        description: "Address the bucket by the path of the URL instead of its host name: for MinIO and others.",
      }),
    }),
    cache_bytes: count(
      20 * 2 ** 30,
      "Maximum size of local copies of videos from the bucket; copies that processes use are kept in any case.",
    ),
  }),
  database: section({
    url: secret("URL of a PostgreSQL database; without it, a private one is started. Also set by `DATABASE_URL`."),
    connections: count(10, "Maximum number of database connections.", 2),
    start_seconds: seconds(30, "Time limit for the start of the database"),
    statement_seconds: seconds(10, "Timeout of a statement"),
  }),
  cluster: section({
    url: nullable(
      "URL at which the other nodes reach this one, if several share a database: `http://10.0.0.5:8080`. Default: `http.host`, or the first address of the machine, with the port of the API.",
    ),
    ca_file: nullable("File with the CA certificates (PEM) by which nodes with `http.tls_cert` verify each other."),
    labels: list("Labels of this node, `name=value`: a start can ask for a node with certain labels."),
    cores: Type.Number({
      minimum: 0,
      default: 0,
      description:
        "Processor cores of this node for processes: starts beyond it go to other nodes or are rejected. 0: not limited.",
    }),
    memory_bytes: count(0, "Memory of this node for processes; 0: not limited."),
    processes: count(0, "Maximum number of processes on this node; 0: not limited."),
    drain_seconds: seconds(60, "Time to hand processes over to other nodes when this one stops or is drained", 1),
  }),
  oidc: section({
    issuer: nullable(
      "Address of an OpenID Connect provider, through which people sign in to the console; default: only API keys.",
    ),
    client_id: text("windhover", "Client id that is registered with the provider."),
    client_secret: secret("Client secret; default: a public client."),
    name: nullable("Name of the provider on the sign-in page; default: its host."),
    scope: text("openid profile email", "Scopes that are requested from the provider."),
    role_claim: text("roles", "Claim with the roles of a person; `a.b` is a claim in a claim."),
    viewers: list("Values of that claim for people who may only look: scope `read`."),
    operators: list("Values for people who operate sources, processes, outputs and alerts: scope `operate`."),
    admins: list("Values for people who may do everything: scope `admin`."),
    account: nullable("Account that people sign in to."),
    account_claim: nullable("Claim with the name of the account instead, for people who have it."),
    session_seconds: seconds(28_800, "Duration of a session, after which people sign in again", 60),
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
    socket_clients: Type.Integer({
      ...{ minimum: 1, maximum: 64, default: 1 },
      description:
        "Maximum number of clients of each of the websockets `detection_data` and `drone_data` of a process.",
    }),
    failed_logins_per_minute: count(20, "Maximum number of wrong keys per minute from one address.", 1),
  }),
  runners: section({
    start_seconds: seconds(5, "Time limit for the start of a process"),
    memory_bytes: count(2 * 2 ** 30, "Maximum memory of a runner; beyond it, the runner is restarted.", 2 ** 27),
    user: nullable(
      "User of runners, probes and the enhancer if the service is started as root. It must be able to read the installation and the models.",
    ),
    readable: list("Further folders that runners may read: videos for the operator's graphs."),
    writable: list("Further folders that runners may write: recordings of the operator's graphs."),
    spare: count(1, "Number of runners that are loaded in advance, for a quick start."),
    restarts: count(5, "Number of crashes within five minutes after which a process fails.", 0),
    restart_most_seconds: seconds(
      30,
      "Maximum delay before a crashed runner is restarted; the delay doubles with every crash",
    ),
  }),
  reconnect: section({
    give_up_seconds: seconds(300, "Time to reconnect to a lost live source before the process fails"),
  }),
  streams: section({
    viewers: count(1_000, "Maximum number of viewers of feeds and events per process.", 1),
    viewers_per_key: count(200, "Maximum number of viewers of feeds and events per key, for all its processes.", 1),
  }),
  tracing: section({
    otlp_url: nullable(
      "Base URL of an OpenTelemetry collector that receives traces by OTLP over HTTP: `http://127.0.0.1:4318`. Default: `OTEL_EXPORTER_OTLP_ENDPOINT` of the environment; without either, nothing is traced.",
    ),
    sample_ratio: Type.Number({
      ...{ minimum: 0, maximum: 1, default: 1 },
      description:
        "Share of the traces that begin here. A request with `traceparent` follows the decision of its sender.",
    }),
  }),
  telemetry: section({
    stale_seconds: seconds(3, "Telemetry is stale without a message for"),
    udp_host: nullable("Address to listen on for telemetry over UDP; default: the address of the API."),
    udp_port_first: count(14_550, "First UDP port that sources may use for telemetry (MAVLink).", 1),
    udp_port_last: count(14_569, "Last UDP port that sources may use for telemetry; 0: none."),
  }),
  terrain: section({
    folder: nullable(
      "Folder with heights of the ground, in which geolocation finds the place of an object: SRTM (`N48E011.hgt`), DTED (`.dt0` to `.dt2`) and GeoTIFF files (`.tif`) in latitude and longitude. Without it, and where it has no data, the ground is assumed to be level.",
    ),
  }),
  map: section({
    tiles: nullable(
      "Background of the map in the console: the address of raster tiles, `https://tiles.example.org/{z}/{x}/{y}.png`, which browsers load from that host, or the path of a PMTiles file with raster tiles, which this service reads. `{s}` in an address is a, b or c. Without it, the map has no background.",
    ),
    attribution: text(
      "",
      "Text that the owner of the tiles requires on the map: `© OpenStreetMap contributors, https://www.openstreetmap.org/copyright`; addresses become links. Default: that of the PMTiles file.",
    ),
    max_zoom: Type.Integer({
      minimum: 0,
      maximum: 24,
      default: 19,
      description: "Largest zoom of the tiles at an address; a PMTiles file states its own.",
    }),
  }),
  report: section({
    window_minutes: Type.Integer({
      minimum: 1,
      maximum: 1440,
      default: 5,
      description:
        "Time window in minutes of the report of a running process; the report of a finished process covers all.",
    }),
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 7,
      description: "Retention of tracks, their points and images in days, also for running processes.",
    }),
  }),
  evidence: section({
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 30,
      description: "Retention of notices of alerts, of their evidence, and of rendered clips, in days.",
    }),
    at_once: count(2, "Maximum number of clips of alerts that are cut at once.", 1),
    pending_per_key: count(
      50,
      "Maximum number of notices of one key whose evidence is not complete yet; further ones get none.",
      1,
    ),
    bytes_per_key: count(
      10 * 2 ** 30,
      "Maximum size of one key's evidence. Further notices get none: evidence is never removed before its retention time.",
    ),
  }),
  events: section({
    retention_days: Type.Number({
      exclusiveMinimum: 0,
      maximum: 36_500,
      default: 30,
      description: "Retention of the events of `GET /events`, in days.",
    }),
    per_key: count(10_000, "Maximum number of stored events of one key; the oldest are removed.", 100),
    clients_per_key: count(8, "Maximum number of open event streams (`GET /events`) of one key.", 1),
  }),
  delivery: section({
    queued: count(10_000, "Maximum queue of a receiver in notifications; the oldest are dropped and counted.", 1),
    queued_per_key: count(50_000, "Maximum queue of one key in notifications; the oldest are dropped.", 1),
    queued_bytes_per_key: count(256 * 2 ** 20, "Maximum queue of one key in bytes.", 65_536),
    at_once: count(
      32,
      "Maximum number of concurrent webhook requests, of concurrent broker topics, and of queues for mails.",
      2,
    ),
    webhook_seconds: seconds(600, "Time to retry a notification that a webhook rejects, before the next one is sent"),
    retry_most_seconds: seconds(30, "Maximum delay between retries for an unreachable receiver"),
  }),
  smtp: section({
    url: secret(
      "Mail server for alerts with outputs of type `email`: `smtp://user:password@host:587`, or `smtps://` for TLS from the start. Without it, such outputs are rejected.",
    ),
    from: nullable("Address of the sender: `alerts@example.org`, or `Windhover <alerts@example.org>`."),
    starttls: Type.Union([Type.Literal("required"), Type.Literal("offered"), Type.Literal("never")], {
      default: "required",
      description:
        "TLS on connections with `smtp://`: `required`, only if the server has `offered` it, or `never`. The certificate is always verified.",
    }),
    seconds: seconds(30, "Time limit for sending one mail", 1),
    interval_seconds: seconds(
      60,
      "Minimum time between two mails of one output; notifications in between are combined into one mail",
      0,
    ),
    recipients_per_hour: count(100, "Maximum number of recipients of mails per hour and key.", 1),
    domains: list("Domains to which mails may be sent; empty: all."),
  }),
  enhancement: section({
    at_once: count(1, "Maximum number of reports that are enhanced concurrently on this machine.", 1),
    memory_bytes: count(2 ** 30, "Maximum memory of the enhancer; beyond it, the enhancer is restarted.", 2 ** 27),
  }),
  demo: section({
    clip: nullable("Video file for the demo instead of its street scene; played at 10 fps."),
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
  }),
  uploads: section({
    probe_seconds: seconds(20, "Time limit for probing an upload"),
  }),
  graphs: section({
    folders: list(
      "Folders with further graphs, `NAME.yaml`; an earlier one has precedence, and all of them over the graphs that come with Windhover.",
    ),
    compile_seconds: seconds(5, "Time limit for compiling a graph"),
    queued_per_key: count(4, "Maximum number of waiting graphs per key; keys are served in turn.", 1),
    author_elements: list(
      "Elements that keys with `graph_author` may use in their own graphs, besides the reviewed ones (`can_try` in `GET /elements`). All their properties are allowed, also those that name files and hosts.",
    ),
    stored_per_key: count(50, "Maximum number of stored graphs per key."),
    versions_per_graph: count(200, "Maximum number of versions of a stored graph.", 1),
    text_bytes: count(65_536, "Maximum size of the text of a stored graph.", 1),
    test_seconds: seconds(60, "Time limit of each test of `POST /graphs/{name}/test`"),
    tests_at_once: count(2, "Maximum number of keys whose tests of graphs run at once.", 1),
  }),
  elements: section({
    folders: list(
      "Folders with further elements, `NAME/NAME.ts`. npm packages `windhover-element-NAME` beside such a folder are elements, too.",
    ),
    watch: Type.Boolean({
      default: false,
      description:
        "Replace the code of these elements in running processes whenever it is saved: for development. New folders are found at the next start.",
    }),
  }),
  models: section({
    folders: list("Folders with further model cards, `NAME.yaml`."),
    per_key: count(10, "Maximum number of uploaded models per key."),
    bytes: count(64 * 2 ** 20, "Maximum size of an uploaded model.", 1),
    check_seconds: seconds(30, "Time limit for checking an uploaded model"),
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
