/**
 * Every row of the interface specification (endpoints, sockets, events, errors, limits) with the tests that prove it.
 * Extensions of the interface are not listed.
 */

/** File and name of a test, with `…` for interpolated parts of the name. */
export type TestName = readonly [file: string, name: string];
export type Evidence = readonly [TestName, ...TestName[]];

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
const COLLECTORS = "server/webhooks/collectors.test.ts";

const ALERTS = "server/api/alerts.test.ts";
const ALERTS_NOTIFY: TestName = [
  "test/api/alerts.test.ts",
  "each type notifies its broker; a forced change applies at once and does not disturb client, output and tracks",
];
const ALERT_KEPT: TestName = [ALERTS, "registers, shows, lists and deletes an alert; shows its secrets once"];
const ALERT_RUNS: TestName = [
  ALERTS,
  "a registered alert runs on current and later processes; a change applies at the next start or with `force`",
];
const ONE_OFF_ALERT: TestName = [
  ALERTS,
  "an alert of one process is rejected if its graph cannot evaluate alerts, and is deleted with its process",
];

const TRACKS = "test/api/tracks.test.ts";
const REPORTS = "server/tracks/report-tracks.test.ts";

const ON_A_CLIP: TestName = [
  WORKFLOW,
  "on an uploaded clip: upload, sources, start, detections with tracked people, feed, pause, resume, info, stop",
];
const ON_A_CAMERA: TestName = [WORKFLOW, "on a live RTSP camera, by its name"];
const PUBLISHED: TestName = [
  "test/api/media.test.ts",
  "changes from offline to streaming to processing, keeps its process when stream or hub fail, and is recorded",
];
const DECORATED: TestName = [
  ENHANCEMENT,
  "reports a failed start with 503; another POST starts again and enhances every track",
];
const ENHANCEMENT_RESUMES: TestName = [
  ENHANCEMENT,
  "replaces a killed child, another server continues, and every track is done once",
];
const ONE_CLIENT: TestName = [SOCKETS, "accept one client at a time, and the next as soon as it has gone"];

const SUBSCRIBED: TestName = [
  WEBHOOKS,
  "creates a subscription with defaults, shows its secret once, lists it with its delivery status, and deletes it",
];
const NOTIFIED: TestName = [
  WEBHOOKS,
  "new-tracks and target-count arrive signed, in the documented format, combined by the interval, and end with the process",
];

const REPORT_LISTED: TestName = [TRACKS, "a process with a report is listed until the report is deleted"];

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
    [INTERFACE, "shows its times in the format of the interface, and its source"],
  ],
  "DELETE /process/{process_uuid}": [ON_A_CLIP, ON_A_CAMERA],
  "DELETE /processes": [[INTERFACE, "with 403 at the limit of processes"]],
  "POST /process/{process_uuid}/stop": [[INTERFACE, "is stopped by the deprecated endpoint"]],
  "POST /process/stop_all": [
    [
      INTERFACE,
      "runs a graph, and rejects elements that access the outside; the deprecated endpoint ends all processes",
    ],
    ["server/api/processes.test.ts", "the deprecated endpoint stops all processes"],
  ],
  "GET /process/{process_uuid}/feed": [
    ON_A_CLIP,
    ["server/streams/feed.test.ts", "sends each picture with its length and time, and ends with the process"],
  ],
  "POST /output": [
    [OUTPUTS, "registers an rtsp output with its playback URL"],
    [OUTPUTS, "returns the existing output for the same type, url and settings"],
  ],
  "POST /process/{process_uuid}/{output_uuid}": [
    [INTERFACE, "accepts data and video outputs, and shows their status"],
    [
      SUPERVISOR,
      "attaches an output to one process at a time, within the limit, and frees it at the end of the process",
    ],
  ],
  "GET /process/{process_uuid}/tracks": [
    [
      TRACKS,
      "the report of a process that has ended is complete, with or without pages, by GET and POST, with images and positions",
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
      "a change keeps omitted fields, replaces sent fields completely, and never sends a password to another broker or for another user",
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
    [TELEMETRY, "frames carry the telemetry of their time, also after the broker and the runner were killed"],
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
    [COLLECTORS, "sends every new track once, in the order of appearance, for any frames and interval"],
  ],
  "(second type): the number of detected targets changes": [
    NOTIFIED,
    [COLLECTORS, "sends counts as a chain of changes from 0 to the last count, for any frames and interval"],
  ],
  "Notifications are spaced by at least backoff_seconds": [
    NOTIFIED,
    [COLLECTORS, "keeps the interval between notifications, except for the last of a process; sends the first at once"],
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
    [INTERFACE, "with 403 at the limit of processes"],
    [SUPERVISOR, "of two starts at the process limit exactly one succeeds"],
  ],
  "POST /start 403: usage limit reached": [
    [INTERFACE, "with 403 when the minutes are used up"],
    [SUPERVISOR, "counts minutes while a process runs, and stops it when they are used up"],
  ],
  "POST /start 404: source not in the database": [
    [INTERFACE, "with 404 for an unknown source and for a source of another key"],
  ],
  "POST /start 404: source file not found locally": [[INTERFACE, "with 404 when the file of the source is missing"]],
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
    [INTERFACE, "with 422 for invalid parameters, and 404 for an unknown graph"],
    ["test/soak/fuzz.soak.ts", "… generated requests get documented responses (seed …)"],
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
  "simultaneous active processes": [[INTERFACE, "with 403 at the limit of processes"]],
  "usage limit in minutes": [
    [SUPERVISOR, "counts minutes while a process runs, and stops it when they are used up"],
    ["server/processes/faults.test.ts", "adds up the minutes of all runners of a process, none twice"],
  ],
} as const satisfies Readonly<Record<string, Evidence>>;
