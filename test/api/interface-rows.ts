/**
 * Every row of the interface's tables of endpoints, sockets, events, errors and limits, and the test that shows it.
 */

/** File and name of a test, as they are written; what a name is put together of, as `…`. */
export type Shown = readonly [file: string, name: string];
export type Evidence = readonly [Shown, ...Shown[]];

const WORKFLOW = "test/api/workflow.test.ts";
const INTERFACE = "test/api/interface.test.ts";
const SOURCES = "server/api/sources.test.ts";
const VIDEO = "server/api/video.test.ts";
const OUTPUTS = "server/api/outputs.test.ts";
const INFORMATION = "server/api/information.test.ts";
const SOCKETS = "server/streams/sockets.test.ts";
const SUPERVISOR = "server/processes/supervisor.test.ts";
const TELEMETRY = "server/telemetry/real-runner.test.ts";
const TELEMETRY_IN = "server/streams/telemetry-in.test.ts";
const PROCESS_TELEMETRY = "server/processes/telemetry.test.ts";

const ENHANCEMENT = "server/enhancement/enhancements.test.ts";
const MEDIA_HUB = "server/media/media-hub.test.ts";
const RECORDINGS = "server/media/recordings/recordings.test.ts";

const WEBHOOKS = "server/api/webhooks.test.ts";
const GATHERERS = "server/webhooks/gather/gather.test.ts";

const ALERTS = "server/api/alerts.test.ts";
const ALERTS_NOTIFY: Shown = [
  "test/api/alerts.test.ts",
  "each type notifies its broker; a forced change is live at once, and client, output and tracks do not notice",
];
const ALERT_KEPT: Shown = [ALERTS, "registers, shows, lists and deletes an alert; shows its secrets once"];
const ALERT_RUNS: Shown = [
  ALERTS,
  "a registered alert runs on current and later processes; a change applies at the next start or with `force`",
];
const ONE_OFF_ALERT: Shown = [
  ALERTS,
  "an alert of one process is rejected if its graph cannot evaluate alerts, and is deleted with its process",
];

const TRACKS = "test/api/tracks.test.ts";
const REPORTS = "server/tracks/report-tracks.test.ts";

const ON_A_CLIP: Shown = [
  WORKFLOW,
  "on an uploaded clip: upload, sources, start, detections, feed, pause, resume, info, stop",
];
const ON_A_CAMERA: Shown = [WORKFLOW, "on a live RTSP camera, by its name"];
const PUBLISHED: Shown = [
  "test/api/media.test.ts",
  "is offline, streaming, processing; its process outlives gaps of the stream and the hub; it is recorded",
];
const DECORATED: Shown = [
  ENHANCEMENT,
  "reports a failed start with 503; another POST starts again and enhances every track",
];
const ENHANCEMENT_RESUMES: Shown = [
  ENHANCEMENT,
  "replaces a killed child, another server continues, and every track is done once",
];
const STOPS_ALL: Shown = [INTERFACE, "all are stopped by DELETE /processes, and by its deprecated path"];
const ONE_CLIENT: Shown = [SOCKETS, "accept one client at a time, and the next as soon as it has gone"];

const SUBSCRIBED: Shown = [
  WEBHOOKS,
  "creates a subscription with defaults, shows its secret once, lists it with its delivery status, and deletes it",
];
const NOTIFIED: Shown = [
  WEBHOOKS,
  "new-tracks and target-count arrive signed, in the documented format, combined by the interval, and end with the process",
];

const REPORT_LISTED: Shown = [
  TRACKS,
  "a process with a report is listed until the report is deleted, and then it has none",
];

export const ENDPOINTS = {
  "GET /status": [[INFORMATION, "`/status` is public; with a valid key it includes the components"]],
  "/login": [
    [INFORMATION, "… /login validates a key"],
    [INFORMATION, "/login distinguishes a wrong, a revoked and an expired key"],
  ],
  "GET /user_info": [
    [INFORMATION, "a master key sees its own minutes and those of its children"],
    [INFORMATION, "a child key sees only itself"],
  ],
  "GET /info": [[INFORMATION, "/info answers in the old format"]],
  "POST /video": [
    ON_A_CLIP,
    [VIDEO, "stores a video completely, with its file name as the alias, and deletes the file with it"],
  ],
  "POST /stream": [ON_A_CAMERA, [SOURCES, "registers, lists, shows and deletes a stream"]],
  "GET /sources": [
    ON_A_CLIP,
    ["server/api/media-sources.test.ts", "the status of a source follows its stream and its process"],
    [SOURCES, "the listing is newest first, complete or in consecutive pages"],
  ],
  "DELETE /source/{source_id}": [
    [SOURCES, "registers, lists, shows and deletes a stream"],
    [SOURCES, "a source with a running process is `processing` and cannot be deleted"],
  ],
  "GET /sources/recordings": [
    PUBLISHED,
    [MEDIA_HUB, "a stream published over … is shown as streaming, recorded, and served to browsers"],
    [RECORDINGS, "pages through recordings, newest first"],
  ],
  "POST /start": [ON_A_CLIP, ON_A_CAMERA],
  "GET /process/{process_uuid}": [
    ON_A_CLIP,
    [INTERFACE, "shows its times as the interface writes them, and what it runs on"],
  ],
  "DELETE /process/{process_uuid}": [ON_A_CLIP, ON_A_CAMERA],
  "DELETE /processes": [STOPS_ALL],
  "POST /process/{process_uuid}/stop": [[INTERFACE, "is stopped by the deprecated path"]],
  "POST /process/stop_all": [STOPS_ALL],
  "GET /process/{process_uuid}/feed": [
    ON_A_CLIP,
    ["server/streams/feed.test.ts", "sends each picture with its length and time, and ends with the process"],
  ],
  "POST /output": [
    [OUTPUTS, "registers an rtsp output with its playback URL"],
    [OUTPUTS, "returns the existing output for the same type, url and settings"],
  ],
  "POST /process/{process_uuid}/{output_uuid}": [
    [INTERFACE, "takes outputs of data and of video, and says how they get on"],
    [
      SUPERVISOR,
      "attaches an output to one process at a time, within the limit, and frees it at the end of the process",
    ],
  ],
  "GET /process/{process_uuid}/tracks": [
    [
      TRACKS,
      "the report of a process that has ended is whole, in pages or not, by GET and POST, with pictures and places",
    ],
    [REPORTS, "has the summary of each track, with its best image"],
  ],
  "DELETE /process/{process_uuid}/tracks": [
    REPORT_LISTED,
    [REPORTS, "of a running process can be deleted, and continues with new tracks"],
  ],
  "GET /tracked_processes": [REPORT_LISTED, [REPORTS, "is listed with its video if the key has process recording"]],
  "POST /decorate_tracks/{process_uuid}": [DECORATED, ENHANCEMENT_RESUMES],
  "GET /decorate_tracks/{process_uuid}/status": [DECORATED],
  "GET /alert_description": [
    [ALERTS, "describes … with an example that can be posted unchanged"],
    [ALERTS, "an unknown type is rejected with the known types and the closest match"],
  ],
  "POST /alert": [ALERTS_NOTIFY, ALERT_RUNS, ALERT_KEPT, [ALERTS, "POST /alert rejects …"]],
  "POST /alert/{process_uuid}": [ALERTS_NOTIFY, ONE_OFF_ALERT],
  "GET /alerts": [
    ALERT_KEPT,
    [
      ALERTS,
      "concurrent requests do not exceed the alert limit; alerts of other users are not found; the listing is paged",
    ],
  ],
  "GET /active/alerts": [ALERT_RUNS, ONE_OFF_ALERT],
  "PATCH /alert/{alert_uuid}": [
    ALERTS_NOTIFY,
    ALERT_RUNS,
    [ALERTS, "two concurrent changes are both applied"],
    [
      ALERTS,
      "a change keeps omitted fields, replaces sent fields completely, and never sends a password to another broker",
    ],
  ],
  "DELETE /alert/{alert_uuid}": [ALERT_KEPT, ALERT_RUNS],
  "POST /subscribe/{process_uuid}": [SUBSCRIBED, [WEBHOOKS, "POST /subscribe rejects …"]],
  "GET /subscriptions/{process_uuid}": [SUBSCRIBED, [WEBHOOKS, "the listing is paged, newest first"]],
  "DELETE /subscriptions/{process_uuid}": [
    SUBSCRIBED,
    [WEBHOOKS, "selects subscriptions to delete in the query or in a body, by url or by type, or all"],
  ],
} as const satisfies Readonly<Record<string, Evidence>>;

export const STREAMS = {
  "/process/{process_uuid}/detection_data": [
    ON_A_CLIP,
    [SOCKETS, "send every message of their channel, in order, and those of no other"],
    [
      "server/streams/socket-client.test.ts",
      "loses the oldest messages, gets their number in the next one, and gets the newest",
    ],
  ],
  "/process/{process_uuid}/drone_data": [
    [
      TELEMETRY,
      "frames get the telemetry of their time, also after the broker was killed in mid-flight and the runner too",
    ],
    [PROCESS_TELEMETRY, "static telemetry applies at all times, to every runner and every later subscriber"],
    [SOCKETS, "are rejected without detections in the graph, except for drone data and telemetry"],
  ],
  "/process/{process_uuid}/telemetry": [
    [TELEMETRY_IN, "passes valid messages to the process in order, and answers the others"],
    [TELEMETRY_IN, "accepts messages in the format of a vendor, and answers faults in them"],
    [TELEMETRY_IN, "rejects the socket of a process whose source …, and says what to do"],
    [
      PROCESS_TELEMETRY,
      "delivers samples of a client to the runner and to drone_data; while paused to drone_data only, and the newest to the runner on resume",
    ],
  ],
} as const satisfies Readonly<Record<string, Evidence>>;

export const EVENT_ROWS = {
  "new-tracks: a new track is detected on the subscribed process": [
    NOTIFIED,
    [
      GATHERERS,
      "every new track is told exactly once, in the order in which they were shown, for any pictures and interval",
    ],
  ],
  "(second type): the number of detected targets changes": [
    NOTIFIED,
    [
      GATHERERS,
      "counts tell a chain of changes that leads from 0 to the last picture's, for any pictures and interval",
    ],
  ],
  "Notifications are spaced by at least backoff_seconds": [
    NOTIFIED,
    [
      GATHERERS,
      "two notifications are never nearer than the interval, but for the last of a process; the first comes at once",
    ],
  ],
  "Body of a new-tracks notification": [NOTIFIED],
  "Alert notifications": [
    ALERTS_NOTIFY,
    [ALERTS, "an alert event is stored for every output, then sent, with the alias at that time"],
  ],
} as const satisfies Readonly<Record<string, Evidence>>;

export const ERROR_ROWS = {
  "POST /start 400: source is not live": [[INTERFACE, "with 400 when the source is not live"]],
  "POST /start 403: incorrect api_key": [[INTERFACE, "with 403 for a wrong key"]],
  "POST /start 403: simultaneous active processes limit reached": [
    [INTERFACE, "with 403 when as many processes run as may"],
    [SUPERVISOR, "of two starts at the process limit exactly one succeeds"],
  ],
  "POST /start 403: usage limit reached": [
    [INTERFACE, "with 403 when the minutes are used up"],
    [SUPERVISOR, "counts minutes while a process runs, and stops it when they are used up"],
  ],
  "POST /start 404: source not in the database": [
    [INTERFACE, "with 404 for a source that is not there, or is another's"],
  ],
  "POST /start 404: source file not found locally": [[INTERFACE, "with 404 when the file of the source is gone"]],
  "POST /start 503: error starting the pipeline": [[INTERFACE, "with 503 when the pipeline cannot be started"]],
  "POST /decorate_tracks/{process_uuid} 403": [
    [ENHANCEMENT, "rejects a wrong key, a key without enhancement, at the process limit, and without minutes"],
  ],
  "POST /decorate_tracks/{process_uuid} 404": [[ENHANCEMENT, "rejects a process without a report, or of another user"]],
  "POST /decorate_tracks/{process_uuid} 503": [DECORATED],
  "POST /output with an existing output is not an error": [
    [OUTPUTS, "returns the existing output for the same type, url and settings"],
  ],
  "POST /stream with an identical source does not create a duplicate": [
    [SOURCES, "returns the existing stream for the same URL and telemetry, whatever the alias"],
    [SOURCES, "many identical concurrent registrations create one source"],
  ],
  "Badly formatted input receives a descriptive error response": [
    [SOURCES, "POST /stream rejects …"],
    [INTERFACE, "with 422 for what a client may not say, and 404 for a graph that is not there"],
    ["test/soak/fuzz.soak.ts", "… requests made up from the document break nothing (seed …)"],
  ],
} as const satisfies Readonly<Record<string, Evidence>>;

export const LIMIT_ROWS = {
  "Video file size": [[VIDEO, "rejects a video that is too large, by its length or while it arrives"]],
  "Video storage": [
    [VIDEO, "fills the storage of a user to the byte, and not beyond"],
    [VIDEO, "one of several uploads that compete for the last space wins, with or without a length"],
  ],
  "Video types": [
    [VIDEO, "POST /video rejects a file named …"],
    [VIDEO, "rejects a file that is not a video with the reason, and stores nothing"],
  ],
  "Stream types": [[SOURCES, "POST /stream rejects …"]],
  "Output resolutions": [[OUTPUTS, "POST /output rejects …"]],
  "Clients per detection_data websocket": [ONE_CLIENT, [SOCKETS, "accept exactly one of 200 simultaneous clients"]],
  "Clients per drone_data websocket": [ONE_CLIENT],
  "Outputs per process": [
    [
      SUPERVISOR,
      "attaches an output to one process at a time, within the limit, and frees it at the end of the process",
    ],
  ],
  Subscriptions: [
    [WEBHOOKS, "one subscription per event type and notification_url: another is rejected, also concurrently"],
    [WEBHOOKS, "concurrent requests do not exceed the subscription limit of a key over all its processes"],
  ],
  "Source recording retention": [
    [RECORDINGS, "removes what is too old with its files, also of a recording in progress"],
  ],
  "Track report window": [
    [REPORTS, "the window is the last minutes of a running process or the whole of an ended one, and can be narrowed"],
    [REPORTS, "excludes tracks not seen in its window, and points before it"],
  ],
  "maximum number of registered sources": [
    [SOURCES, "concurrent requests do not exceed the source limit; an existing source is returned at the limit"],
  ],
  "maximum number of registered outputs": [
    [OUTPUTS, "concurrent requests do not exceed the output limit; an existing output is returned at the limit"],
  ],
  "simultaneous active outputs": [
    [
      SUPERVISOR,
      "attaches an output to one process at a time, within the limit, and frees it at the end of the process",
    ],
  ],
  "simultaneous active processes": [[INTERFACE, "with 403 when as many processes run as may"]],
  "usage limit in minutes": [
    [SUPERVISOR, "counts minutes while a process runs, and stops it when they are used up"],
    ["server/processes/faults.test.ts", "adds up the minutes of all runners of a process, none twice"],
  ],
} as const satisfies Readonly<Record<string, Evidence>>;
