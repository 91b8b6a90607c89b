"""Every operation and every type of the API.

Generated from the OpenAPI document by `npm run generate`; a test compares it with the service. Do not edit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from .transport import Answer, Form, Route

API_VERSION = "2.15.2"


class ListKeysAnswer(TypedDict):
    keys: list[Key]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class CreateKeyBody(TypedDict):
    #: For people; several keys may share a name.
    name: str
    #: `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts.
    scopes: list[Literal["read", "publish", "operate", "admin"]]
    #: The key sees and uses only these sources, and what belongs to them. Null: all sources of the account.
    source_uuids: NotRequired[list[str] | None]
    #: The key is not valid from this time on. Null: it does not expire.
    expires_at: NotRequired[str | None]
    #: The account: that of this key (default), or for a master key one of its children.
    username: NotRequired[str]


class ChangeKeyBody(TypedDict):
    #: For people; several keys may share a name.
    name: NotRequired[str]
    #: The key is not valid from this time on. Null: it does not expire.
    expires_at: NotRequired[str | None]


class RevokeKeyAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class RotateKeyBody(TypedDict):
    #: For how long the old key stays valid.
    overlap_seconds: NotRequired[int]
    #: Of the new key. Default: as that of the old key.
    expires_at: NotRequired[str | None]


class ListAccountsAnswer(TypedDict):
    accounts: list[Account]


class ChangeAccountBodyLimits(TypedDict):
    r"""Null: the limit of the configuration."""
    processes: NotRequired[int | None]
    sources: NotRequired[int | None]
    outputs_registered: NotRequired[int | None]
    outputs_active: NotRequired[int | None]
    alerts: NotRequired[int | None]
    subscriptions: NotRequired[int | None]
    video_bytes: NotRequired[int | None]
    storage_bytes: NotRequired[int | None]
    requests_per_minute: NotRequired[int | None]
    socket_clients: NotRequired[int | None]


class ChangeAccountBody(TypedDict):
    #: Null: the limit of the configuration.
    limits: NotRequired[ChangeAccountBodyLimits]
    #: Processes keep track reports.
    track_logger: NotRequired[bool]
    #: Processes are recorded.
    recording: NotRequired[bool]
    #: Track reports can be enhanced.
    enhancement: NotRequired[bool]
    #: May run and store its own graphs, and upload models.
    graph_author: NotRequired[bool]
    #: Null: the account does not expire.
    expires_at: NotRequired[str | None]


class ListSourcesAnswer(TypedDict):
    sources: list[Source]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteSourceAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class DeleteTelemetryAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class DeleteCalibrationAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class ListRecordingsAnswer(TypedDict):
    recordings: list[Recording]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class ListClipsAnswer(TypedDict):
    clips: list[Clip]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteClipAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class ListProcessesAnswer(TypedDict):
    processes: list[Process]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class StopProcessAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class StopProcessOldAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class DetachOutputAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class ListOutputsAnswer(TypedDict):
    outputs: list[Output]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteOutputAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class LeaveSourceAnswer(TypedDict):
    deleted: Literal[True]


class LeaveOutputAnswer(TypedDict):
    deleted: Literal[True]


class UnpublishSourceAnswer(TypedDict):
    deleted: Literal[True]


class DeleteRecordingAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class ListTrackedProcessesAnswer(TypedDict):
    tracked_processes: list[TrackedProcess]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteAlertAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class ListAlertsAnswer(TypedDict):
    alerts: list[Alert]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class ListActiveAlertsAnswer(TypedDict):
    alerts: list[Alert]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class ListNoticesAnswer(TypedDict):
    notices: list[Notice]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteNoticeAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class ListSubscriptionsAnswerSubscriptionsNotifierPolicyArgs(TypedDict):
    #: Minimum time between two notifications.
    backoff_seconds: NotRequired[float]


class ListSubscriptionsAnswerSubscriptionsDelivery(TypedDict):
    #: Notifications that wait for delivery or are being combined.
    waiting: int
    #: Notifications accepted by the receiver.
    delivered: int
    #: Notifications discarded because delivery failed for too long or the queue was full.
    dropped: int
    last_attempt_at: str | None
    last_delivered_at: str | None
    #: Null if the last attempt succeeded.
    last_error: str | None


class ListSubscriptionsAnswerSubscriptions(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    subscription_uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Credentials are shown as `***`.
    notification_url: str
    #: `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0.
    event_type: Literal["new-tracks", "target-count"]
    #: Credentials are shown as `***`.
    auth_url: str | None
    notifier_policy_type: Literal["backoff"]
    notifier_policy_args: ListSubscriptionsAnswerSubscriptionsNotifierPolicyArgs
    #: `full` adds the track entries of the detection message.
    notification_format: NotRequired[Literal["simple", "full"]]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    delivery: ListSubscriptionsAnswerSubscriptionsDelivery


class ListSubscriptionsAnswer(TypedDict):
    subscriptions: list[ListSubscriptionsAnswerSubscriptions]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class UnsubscribeAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: UUIDs of the deleted subscriptions.
    uuids: list[str]
    #: Lower case; upper case is accepted.
    uuid: NotRequired[str]


class TestSubscriptionsAnswerTests(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    subscription_uuid: str
    #: `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0.
    event_type: Literal["new-tracks", "target-count"]
    notification_url: str
    delivered: bool
    #: Why it was not delivered; null if it was.
    detail: str | None


class TestSubscriptionsAnswer(TypedDict):
    tests: list[TestSubscriptionsAnswerTests]


class ListEventsAnswer(TypedDict):
    events: list[AccountEvent]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class ListEventSubscriptionsAnswer(TypedDict):
    subscriptions: list[EventSubscription]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class UnsubscribeFromEventsAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class TestEventSubscriptionAnswerTests(TypedDict):
    type: Literal["webhook", "mqtt"]
    delivered: bool
    #: Why it was not delivered; null if it was.
    detail: str | None


class TestEventSubscriptionAnswer(TypedDict):
    #: In the order of `output`.
    tests: list[TestEventSubscriptionAnswerTests]


class ListBranchesAnswer(TypedDict):
    #: In the order of attachment.
    branches: list[Branch]
    #: Available slots with the JSON Schema of their parameters.
    slots: dict[str, dict[str, Any]]


class DetachBranchAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class StartShadowBody(TypedDict):
    #: As `graph` of `POST /start`: `NAME` or `NAME@VERSION`. Default: the graph that the process runs.
    graph: NotRequired[str]
    #: Values of the graph's params. Without `graph`, those of the process apply besides these.
    params: NotRequired[dict[str, Any]]
    #: It ends after this time. Default: 60.
    seconds: NotRequired[int]
    #: It ends after this number of compared frames.
    frames: NotRequired[int]


class ListGraphsAnswer(TypedDict):
    graphs: list[GraphSummary]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteGraphAnswer(TypedDict):
    deleted: Literal[True]
    name: str


class ListGraphVersionsAnswer(TypedDict):
    versions: list[GraphVersion]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class ListElementsAnswer(TypedDict):
    elements: list[ElementSummary]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class TestGraphBody(TypedDict):
    #: A version of a graph of your own. Default: the current one.
    version: NotRequired[int]
    #: Names of the tests to run. Default: all.
    only: NotRequired[list[str]]


class ListModelsAnswer(TypedDict):
    models: list[Model]
    #: There is more: ask again with this `cursor`.
    next_cursor: NotRequired[str]


class DeleteModelAnswer(TypedDict):
    deleted: Literal[True]
    name: str


class TryGraphBody(TypedDict):
    #: YAML of the graph. It may only use elements on the allow-list.
    yaml: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: Values of the graph's parameters.
    params: NotRequired[dict[str, Any]]


class SetProcessGraphAnswer(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Values by node and property; `params` for the graph's parameters.
    set: dict[str, dict[str, Any]]


class UpgradeProcessGraphBody(TypedDict):
    #: A version of the graph that the process runs.
    version: int
    #: Only answer what would change. Default: false.
    dry_run: NotRequired[bool]


class StopDemoAnswer(TypedDict):
    deleted: Literal[True]
    #: Lower case; upper case is accepted.
    uuid: str


class GetOpenApiAnswer(TypedDict):
    openapi: str


class GetAsyncApiAnswer(TypedDict):
    asyncapi: str


class AccountLimits(TypedDict):
    #: Active processes.
    processes: int
    #: Registered sources.
    sources: int
    #: Registered outputs.
    outputs_registered: int
    #: Attached outputs.
    outputs_active: int
    #: Alerts, including one-off alerts of processes.
    alerts: int
    #: Webhook subscriptions of all processes.
    subscriptions: int
    #: Size of an uploaded video.
    video_bytes: int
    #: Size of all uploaded videos.
    storage_bytes: int
    #: Requests per minute.
    requests_per_minute: int
    #: Clients of each of the websockets `detection_data` and `drone_data` of a process, up to 64.
    socket_clients: int


class Account(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    username: str
    #: Its master; null for a master.
    master: str | None
    product: str
    limits: AccountLimits
    #: Processes keep track reports.
    track_logger: bool
    #: Processes are recorded.
    recording: bool
    #: Track reports can be enhanced.
    enhancement: bool
    #: May run and store its own graphs, and upload models.
    graph_author: bool
    #: May see numbers of all accounts.
    operator: bool
    #: From this time on, no key of the account is valid.
    expires_at: str | None
    #: UTC, ISO 8601 with milliseconds.
    created_at: str


class AccountEventDataError(TypedDict):
    code: str
    detail: str


class AccountEventData(TypedDict):
    r"""Depends on the type; further fields may be added."""
    #: Of a stream: where it is published.
    path: NotRequired[str]
    protocol: NotRequired[Literal["rtsp", "rtmp", "srt", "webrtc"]]
    codec: NotRequired[str]
    width: NotRequired[int]
    height: NotRequired[int]
    #: Why it ended, was rejected or was restarted.
    reason: NotRequired[str]
    #: Of a stream or recording that has ended.
    duration_seconds: NotRequired[float]
    #: Of a process.
    graph: NotRequired[str]
    error: NotRequired[AccountEventDataError]
    #: Restarts of the process so far.
    restarts: NotRequired[int]
    #: Lower case; upper case is accepted.
    recording_uuid: NotRequired[str]
    #: Lower case; upper case is accepted.
    notice_uuid: NotRequired[str]
    #: Lower case; upper case is accepted.
    clip_uuid: NotRequired[str]
    evidence: NotRequired[Literal["ready", "partial"]]
    quota: NotRequired[Literal["minutes", "storage"]]
    #: Of the quota: minutes, or bytes.
    used: NotRequired[float]
    limit: NotRequired[float]


class AccountEvent(TypedDict):
    #: Number of the event in the log of the account: 1, 2, 3 and so on, in the order of the log.
    id: int
    #: Lower case; upper case is accepted.
    uuid: str
    #: `stream-began`: The first keyframe of a published stream has arrived: the stream can be played. `stream-ended`: The publisher has left, or was disconnected (`reason`). `stream-rejected`: A publisher was rejected (`reason`). Repeated attempts are reported now and then, not each. `process-started`: The first frame was decoded. Of a process that waits for its source: each time that it continues. `process-waiting`: The process waits for its source. `process-reconnecting`: The live source was lost and is being reconnected. `process-reconnected`: Frames of the live source arrive again. `process-restarted`: The runner crashed and is restarted, or the process runs again after the end of its server. `process-failed`: The process has ended with an error. `process-finished`: The process has ended: its file is over, it was stopped, or a limit was reached (`error`). `recording-closed`: The recording of a source is complete. `evidence-ready`: Clip and snapshot of a notice can be downloaded, or as much of them as there is (`evidence`). `evidence-failed`: Neither clip nor snapshot of a notice could be made. `clip-ready`: A clip of `POST /clips` can be downloaded. `clip-failed`: A clip of `POST /clips` could not be rendered (`error`). `enhancement-finished`: The report of the process is enhanced. `enhancement-failed`: The report of the process could not be enhanced (`error`). `quota-near`: 90 % of a quota are used.
    type: Literal["stream-began", "stream-ended", "stream-rejected", "process-started", "process-waiting", "process-reconnecting", "process-reconnected", "process-restarted", "process-failed", "process-finished", "recording-closed", "evidence-ready", "evidence-failed", "clip-ready", "clip-failed", "enhancement-finished", "enhancement-failed", "quota-near"]
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    source_uuid: str | None
    process_uuid: str | None
    #: Depends on the type; further fields may be added.
    data: AccountEventData


class AlertOutput2(TypedDict):
    type: Literal["mqtt", "webhook", "email"]
    #: Secrets are shown as `***`.
    config: dict[str, Any]


class AlertPendingOutput(TypedDict):
    type: Literal["mqtt", "webhook", "email"]
    #: Secrets are shown as `***`.
    config: dict[str, Any]


class AlertPending(TypedDict):
    trigger: dict[str, Any]
    region: dict[str, Any]
    filter: dict[str, Any]
    parameters: dict[str, Any]
    output: list[AlertPendingOutput]
    #: Null: none.
    evidence: Evidence | None


class Alert(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    alert_uuid: str
    alias: str
    type: str
    status: Literal["active", "inactive"]
    #: When it is evaluated. Null: always.
    schedule: Schedule | None
    trigger: dict[str, Any]
    region: dict[str, Any]
    filter: dict[str, Any]
    parameters: dict[str, Any]
    output: list[AlertOutput2]
    #: Null: none.
    evidence: Evidence | None
    #: The changed configuration, while a running process still uses the current one. It takes effect at the next start of a process, or at once with `force`.
    pending: AlertPending | None
    #: The process of a one-off alert, and in the listing of active alerts. Null: all processes.
    process_uuid: str | None
    #: Extension: delivery status per output, in the order of `output`.
    delivery: list[AlertDelivery]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str


class AlertChange(TypedDict):
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: NotRequired[str]
    #: Cannot be changed; may be sent unchanged.
    type: NotRequired[str]
    status: NotRequired[Literal["active", "inactive"]]
    #: Destinations, up to 16. Each receives every notification in order, at least once. Without one, `GET /notices` lists the notifications.
    output: NotRequired[list[AlertOutput]]
    schedule: NotRequired[Schedule | None]
    #: Null: none.
    evidence: NotRequired[Evidence | None]
    #: An object; `GET /alert_description` returns its schema.
    trigger: NotRequired[Any]
    #: An object; `GET /alert_description` returns its schema.
    region: NotRequired[Any]
    #: An object; `GET /alert_description` returns its schema.
    filter: NotRequired[Any]
    #: An object; `GET /alert_description` returns its schema.
    parameters: NotRequired[Any]
    #: Apply the changed configuration to all running processes at once, without restarting them.
    force: NotRequired[bool]


class AlertDelivery(TypedDict):
    type: Literal["mqtt", "webhook", "email"]
    waiting: int
    delivered: int
    #: Notifications discarded because the queue was full or delivery failed for too long.
    dropped: int
    last_attempt_at: str | None
    last_delivered_at: str | None
    #: Error of the last attempt; null if it succeeded.
    last_error: str | None


class AlertDescriptionSchemas(TypedDict):
    #: JSON Schema.
    trigger: dict[str, Any]
    #: JSON Schema.
    region: dict[str, Any]
    #: JSON Schema.
    filter: dict[str, Any]
    #: JSON Schema.
    parameters: dict[str, Any]


class AlertDescription(TypedDict):
    name: str
    #: Same as `name`: the value for `type` of an alert.
    type: str
    description: str
    schemas: AlertDescriptionSchemas
    #: A complete body for `POST /alert`.
    example: dict[str, Any]


class AlertEvent(TypedDict):
    #: Identical in every copy of this notification: use it to detect duplicates.
    id: str
    #: The alert. For a rule in the graph itself, a UUID that is the same for all its notifications.
    alert_uuid: str
    #: Of a rule in the graph itself: its name, `alert`.
    alias: str
    type: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    #: `evidence-ready`: a second notification with the same `id`, when the evidence is complete.
    event: Literal["triggered"] | Literal["updated"] | Literal["cleared"] | Literal["evidence-ready"]
    tracks: list[TrackEntry]
    data: dict[str, Any]
    evidence: NotRequired[EvidenceInfo]
    #: Works without a key, for a limited time. Until the clip is complete it answers 409 with `Retry-After`.
    clip_url: NotRequired[str]
    #: JPEG. Works without a key, for a limited time.
    snapshot_url: NotRequired[str]
    #: Number of events lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class AlertOutput(TypedDict):
    type: Literal["mqtt", "webhook", "email"]
    #: Configuration for the type: see `MqttAlertOutput`, `WebhookAlertOutput` and `EmailAlertOutput`.
    config: MqttAlertOutput | WebhookAlertOutput | EmailAlertOutput


class AlertPreviewPreviews(TypedDict):
    type: Literal["mqtt", "webhook", "email"]
    #: Of the body.
    content_type: str
    #: Of a mail; null for other types.
    subject: str | None
    #: The MQTT payload, the body of the request, or the text of the mail.
    body: str


class AlertPreview(TypedDict):
    #: In the order of `output`.
    previews: list[AlertPreviewPreviews]


class AlertPreviewRequest(TypedDict):
    r"""Fields of an alert. With `evidence`, the sample has `clip_url` and `snapshot_url` as far as it asks for them."""
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: NotRequired[str]
    #: Alert type of the sample.
    type: NotRequired[str]
    #: Destinations, up to 16. Each receives every notification in order, at least once. Without one, `GET /notices` lists the notifications.
    output: list[AlertOutput]
    #: Null: none.
    evidence: NotRequired[Evidence | None]


class Allocated(TypedDict):
    username: str
    minutes: int
    subscription: Subscription
    #: Minutes that the master key can still allocate.
    pending_to_allocate: float


class Allocation(TypedDict):
    #: User name of the master key or of one of its child keys.
    username: str
    minutes: int


class Branch(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    branch_uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    slot: str
    #: As sent. Credentials are shown as `***`.
    params: dict[str, Any]
    #: UTC, ISO 8601 with milliseconds.
    attached_at: str
    #: A branch that fails is detached, and the process continues without it. It is attached again when the process restarts.
    status: Literal["idle", "starting", "live", "retrying", "failed"]
    #: Why it is not live or receives no data, if known; or why an output with `audio` has no sound.
    status_detail: str | None
    #: For `cot` and `mqtt`: messages.
    frames_sent: int
    #: Frames that arrived faster than they could be encoded or sent.
    frames_dropped: int


class Calibration(TypedDict):
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: Degrees that are added to the reported heading, clockwise.
    heading_offset_deg: float
    #: Its error in degrees, one standard deviation.
    heading_error_deg: float
    #: Number of landmarks that it was found with.
    landmarks: int
    #: UTC, ISO 8601 with milliseconds.
    calibrated_at: str


class CameraEvent(TypedDict):
    #: Capture time of the frame.
    timestamp: str
    latitude: float
    longitude: float
    #: Metres above mean sea level.
    altitude: float
    #: Viewing direction in degrees from true north, clockwise, calibrated. Absent if it is unknown.
    heading: NotRequired[float]
    #: The visible ground: points of [latitude, longitude] around it, on the terrain where that is known. It ends some kilometres from the camera if the frame has the horizon. Absent without the pose of the camera, or if the frame has no ground.
    footprint: NotRequired[list[list[float]]]
    process_uuid: str
    #: Number of events lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class CameraMessage(TypedDict):
    #: Capture time of the frame.
    timestamp: str
    latitude: float
    longitude: float
    #: Metres above mean sea level.
    altitude: float
    #: Viewing direction in degrees from true north, clockwise, calibrated. Absent if it is unknown.
    heading: NotRequired[float]
    #: The visible ground: points of [latitude, longitude] around it, on the terrain where that is known. It ends some kilometres from the camera if the frame has the horizon. Absent without the pose of the camera, or if the frame has no ground.
    footprint: NotRequired[list[list[float]]]
    process_uuid: str


class ChildSubscription(TypedDict):
    username: str
    #: Remaining minutes. 1000000000 if the key has no limit.
    remaining_minutes: float
    #: Minutes that processes have run.
    consumed_minutes: float
    #: Purchased minutes that are not allocated yet.
    pending_to_allocate: float
    #: Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire.
    expiration_date: str


Clip = TypedDict("Clip", {"uuid": "str", "source_uuid": "str", "process_uuid": "str | None", "from": "float | str", "to": "float | str", "boxes": "bool", "state": "Literal[\"queued\", \"rendering\", \"ready\", \"failed\"]", "progress": "float", "error": "str | None", "size_bytes": "int | None", "created_at": "str", "download_url": "str | None"})


class CreatedKey(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    key_uuid: str
    #: The account.
    username: str
    name: str
    #: First characters of the key.
    prefix: str
    #: `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts.
    scopes: list[Literal["read", "publish", "operate", "admin"]]
    #: The key sees and uses only these sources, and what belongs to them. Null: all sources of the account.
    source_uuids: list[str] | None
    #: Who signed in to the console: then this is the session. Null: a key.
    person: str | None
    state: Literal["valid", "expired", "revoked"]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: To about a minute. Null: not used yet.
    last_used_at: str | None
    expires_at: str | None
    #: The key. It is not stored, and cannot be read again.
    key: str


class CreatedSubscriptionNotifierPolicyArgs(TypedDict):
    #: Minimum time between two notifications.
    backoff_seconds: NotRequired[float]


class CreatedSubscription(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    subscription_uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Credentials are shown as `***`.
    notification_url: str
    #: `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0.
    event_type: Literal["new-tracks", "target-count"]
    #: Credentials are shown as `***`.
    auth_url: str | None
    notifier_policy_type: Literal["backoff"]
    notifier_policy_args: CreatedSubscriptionNotifierPolicyArgs
    #: `full` adds the track entries of the detection message.
    notification_format: NotRequired[Literal["simple", "full"]]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: Signing secret of the notifications (Standard Webhooks). It is not shown again.
    secret: str


class DeletedReport(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    deleted: Literal[True]


class DemoState(TypedDict):
    #: `fetching`: its clip is downloaded, on first use. `converting`: its clip is converted, on first use. `starting`: its source is registered and its process starts. `running`: the demo can be watched.
    state: Literal["off"] | Literal["fetching"] | Literal["converting"] | Literal["starting"] | Literal["running"]
    source_uuid: str | None
    process_uuid: str | None
    detail: str | None


class DetectionMessageCounts(TypedDict):
    total: int
    classes: dict[str, int]


class DetectionMessage(TypedDict):
    #: Capture time of the frame: UTC, ISO 8601 with milliseconds.
    timestamp: str
    #: URI of the input, without credentials.
    source_uri: str
    process_uuid: str
    active_tracks: list[TrackEntry]
    #: Extension: time between the frame and the nearest telemetry. Absent without telemetry.
    telemetry_age_ms: NotRequired[float]
    #: Extension: values that the graph computes for the frame, by name.
    values: NotRequired[dict[str, bool | float | str | None]]
    #: Extension: objects that the graph counts, by the name of the count.
    counts: NotRequired[dict[str, DetectionMessageCounts]]
    #: On a websocket: number of messages lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class DrainNode(TypedDict):
    #: Time to hand its processes over; what is left then stops and waits for room. Default: 60.
    seconds: NotRequired[float]


class DroneDataMessage(TypedDict):
    #: Unix time in seconds; a value above 1e11 is read as milliseconds.
    timestamp: float
    #: Degrees, WGS-84.
    latitude: NotRequired[float]
    #: Degrees, WGS-84.
    longitude: NotRequired[float]
    #: Metres per second.
    speed: NotRequired[float]
    #: Degrees, horizontal field of view.
    sensor_hfov: NotRequired[float]
    #: Degrees, vertical field of view.
    sensor_vfov: NotRequired[float]
    #: Degrees from the horizon, negative is down.
    camera_pitch: NotRequired[float]
    #: Degrees from true north, clockwise.
    camera_yaw: NotRequired[float]
    #: Degrees, clockwise along the viewing direction.
    camera_roll: NotRequired[float]
    #: Metres above mean sea level.
    altitude: NotRequired[float]
    #: Metres above the ground.
    rel_altitude: NotRequired[float]
    #: Degrees.
    drone_pitch: NotRequired[float]
    #: Degrees.
    drone_yaw: NotRequired[float]
    #: Degrees.
    drone_roll: NotRequired[float]
    #: Number of messages lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class ElementPads(TypedDict):
    name: str
    direction: Literal["sink", "src"]
    presence: Literal["always", "sometimes", "request"]
    caps: str


class ElementPropertiesChoices(TypedDict):
    name: str
    about: str


class ElementProperties(TypedDict):
    name: str
    #: Human-readable type.
    type: str
    default: NotRequired[Any]
    required: bool
    #: Mutable while PLAYING.
    live: bool
    read_only: bool
    deprecated: bool
    about: str
    choices: list[ElementPropertiesChoices]
    #: The texts that it accepts; absent: any.
    values: NotRequired[list[str]]
    #: Its texts are expressions.
    is_expression: NotRequired[bool]


class ElementVariables(TypedDict):
    name: str
    type: str
    about: str


Element = TypedDict("Element", {"name": "str", "plugin": "str", "about": "str", "kind": "Literal[\"transform\", \"sink\", \"composite\", \"native\"]", "can_try": "bool", "caps": "str | None", "reads": "list[Any]", "writes": "list[str]", "example": "str | None", "class": "str | None", "rank": "int | None", "pads": "list[ElementPads]", "properties": "list[ElementProperties]", "variables": "NotRequired[list[ElementVariables]]"})


class ElementSummary(TypedDict):
    name: str
    #: `windhover` for Windhover's own elements.
    plugin: str
    about: str


class EmailAlertOutput(TypedDict):
    r"""Sent by the mail server of this service (`smtp.url`). Notifications that follow within `smtp.interval_seconds` are combined into one mail."""
    #: Recipients, up to 10.
    to: list[str]
    #: Subject of the mail. `{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields.
    subject: NotRequired[str]
    #: Text of the mail. `{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields.
    text: NotRequired[str]


class EnhancedDataColour(TypedDict):
    #: Common name: `silver`, `red`.
    name: str
    #: Colour in the image, sRGB.
    rgb: list[int]
    #: Share of the analysed area with this colour, from 0 to 1.
    share: float


class EnhancedDataPlate(TypedDict):
    #: Letters and digits only.
    text: str
    #: Percent.
    confidence: float


class EnhancedData(TypedDict):
    r"""Attributes from the best image of a track; null if the image does not show them."""
    vehicle_type: str | None
    colour: EnhancedDataColour | None
    plate: EnhancedDataPlate | None
    #: Attributes of the kind of object: `upper_colour` and `lower_colour` for people; `against_sky`, `apparent_shape`, `contrast` and, if legible, `registration` for flying objects.
    attributes: dict[str, Any]


class EnhancementStarted(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str


class EnhancementState(TypedDict):
    status: Literal["RUNNING", "FINISHED", "FAILED"]
    #: Share of the tracks that are done.
    progress: float
    #: `120 of 400 tracks`; for FAILED, the reason.
    detail: str


EventGap = TypedDict("EventGap", {"from": "int", "to": "int"})


class EventNotificationDataError(TypedDict):
    code: str
    detail: str


class EventNotificationData(TypedDict):
    r"""Depends on the type; further fields may be added."""
    #: Of a stream: where it is published.
    path: NotRequired[str]
    protocol: NotRequired[Literal["rtsp", "rtmp", "srt", "webrtc"]]
    codec: NotRequired[str]
    width: NotRequired[int]
    height: NotRequired[int]
    #: Why it ended, was rejected or was restarted.
    reason: NotRequired[str]
    #: Of a stream or recording that has ended.
    duration_seconds: NotRequired[float]
    #: Of a process.
    graph: NotRequired[str]
    error: NotRequired[EventNotificationDataError]
    #: Restarts of the process so far.
    restarts: NotRequired[int]
    #: Lower case; upper case is accepted.
    recording_uuid: NotRequired[str]
    #: Lower case; upper case is accepted.
    notice_uuid: NotRequired[str]
    #: Lower case; upper case is accepted.
    clip_uuid: NotRequired[str]
    evidence: NotRequired[Literal["ready", "partial"]]
    quota: NotRequired[Literal["minutes", "storage"]]
    #: Of the quota: minutes, or bytes.
    used: NotRequired[float]
    limit: NotRequired[float]


class EventNotification(TypedDict):
    #: Number of the event in the log of the account: 1, 2, 3 and so on, in the order of the log.
    id: int
    #: Lower case; upper case is accepted.
    uuid: str
    #: `stream-began`: The first keyframe of a published stream has arrived: the stream can be played. `stream-ended`: The publisher has left, or was disconnected (`reason`). `stream-rejected`: A publisher was rejected (`reason`). Repeated attempts are reported now and then, not each. `process-started`: The first frame was decoded. Of a process that waits for its source: each time that it continues. `process-waiting`: The process waits for its source. `process-reconnecting`: The live source was lost and is being reconnected. `process-reconnected`: Frames of the live source arrive again. `process-restarted`: The runner crashed and is restarted, or the process runs again after the end of its server. `process-failed`: The process has ended with an error. `process-finished`: The process has ended: its file is over, it was stopped, or a limit was reached (`error`). `recording-closed`: The recording of a source is complete. `evidence-ready`: Clip and snapshot of a notice can be downloaded, or as much of them as there is (`evidence`). `evidence-failed`: Neither clip nor snapshot of a notice could be made. `clip-ready`: A clip of `POST /clips` can be downloaded. `clip-failed`: A clip of `POST /clips` could not be rendered (`error`). `enhancement-finished`: The report of the process is enhanced. `enhancement-failed`: The report of the process could not be enhanced (`error`). `quota-near`: 90 % of a quota are used.
    type: Literal["stream-began", "stream-ended", "stream-rejected", "process-started", "process-waiting", "process-reconnecting", "process-reconnected", "process-restarted", "process-failed", "process-finished", "recording-closed", "evidence-ready", "evidence-failed", "clip-ready", "clip-failed", "enhancement-finished", "enhancement-failed", "quota-near"]
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    source_uuid: str | None
    process_uuid: str | None
    #: Depends on the type; further fields may be added.
    data: EventNotificationData
    #: A test of the destination, not an event.
    sample: NotRequired[Literal[True]]


class EventOutput(TypedDict):
    type: Literal["webhook", "mqtt"]
    #: Configuration for the type: see `WebhookEventOutput` and `MqttAlertOutput`.
    config: MqttAlertOutput | WebhookEventOutput


class EventSubscriptionDelivery(TypedDict):
    type: Literal["webhook", "mqtt"]
    #: Notifications that wait for delivery or are being combined.
    waiting: int
    #: Notifications accepted by the receiver.
    delivered: int
    #: Notifications discarded because delivery failed for too long or the queue was full.
    dropped: int
    last_attempt_at: str | None
    last_delivered_at: str | None
    #: Null if the last attempt succeeded.
    last_error: str | None


class EventSubscription(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    subscription_uuid: str
    #: Credentials are shown as `***`; the secret of a webhook is shown once, when it is subscribed.
    output: list[EventOutput]
    #: Types of events to send; empty: all, also those of later versions.
    types: list[Literal["stream-began", "stream-ended", "stream-rejected", "process-started", "process-waiting", "process-reconnecting", "process-reconnected", "process-restarted", "process-failed", "process-finished", "recording-closed", "evidence-ready", "evidence-failed", "clip-ready", "clip-failed", "enhancement-finished", "enhancement-failed", "quota-near"]]
    source_uuid: str | None
    #: Only events of these sources: those of the key that subscribed. Null: all, or `source_uuid`.
    source_uuids: list[str] | None
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: In the order of `output`.
    delivery: list[EventSubscriptionDelivery]


class EvidenceClip(TypedDict):
    r"""A video clip."""
    #: Seconds before the frame of the notice.
    before_seconds: NotRequired[float]
    #: Seconds after the frame of the notice.
    after_seconds: NotRequired[float]
    #: Draw the boxes of the detections.
    boxes: NotRequired[bool]


class Evidence(TypedDict):
    r"""What is kept of each `triggered` or `updated` notice: a clip, cut out of the recording, the last seconds of a stream that is not recorded, or the file; and a snapshot."""
    #: A video clip.
    clip: NotRequired[EvidenceClip]
    #: A JPEG image of the frame.
    snapshot: NotRequired[bool]


EvidenceInfoMissing = TypedDict("EvidenceInfoMissing", {"part": "Literal[\"clip\", \"boxes\", \"snapshot\"]", "reason": "str", "from": "NotRequired[str]", "to": "NotRequired[str]"})


EvidenceInfoClip = TypedDict("EvidenceInfoClip", {"from": "str", "to": "str", "size_bytes": "int"})


class EvidenceInfo(TypedDict):
    #: `pending`: the clip is not complete yet. `ready`: all that was requested is there. `partial`: `missing` lists what is not. `failed`: nothing is. `skipped`: too much evidence of this key is waiting or kept.
    state: Literal["pending", "ready", "partial", "failed", "skipped"]
    #: Parts that are missing, and the time ranges without video.
    missing: list[EvidenceInfoMissing]
    #: The frames of the clip; null: there is none yet, or none at all.
    clip: EvidenceInfoClip | None


class Graph(TypedDict):
    name: str
    #: `installed`: a graph of the service; `own`: stored by this key.
    origin: Literal["installed", "own"]
    #: Of an own graph; null if installed, as the next three.
    version: int | None
    digest: str | None
    author: str | None
    created_at: str | None
    about: str
    #: JSON Schema of `params` of `POST /start`.
    params: dict[str, Any]
    #: Parameters that refer to resources on the server: clients cannot set them.
    reserved_params: list[str]
    #: False if it requires a reserved parameter or is not valid.
    can_start: bool
    #: Features that a process of this graph offers, including slot names.
    offers: list[str]
    #: Slots that can be attached while it runs, with the schema of their parameters.
    slots: dict[str, dict[str, Any]]
    yaml: str
    #: Compiled for a file source; null if the graph is not valid.
    pipeline: Pipeline | None
    faults: list[GraphFault]


GraphChange2 = TypedDict("GraphChange2", {"label": "Literal[\"live\"]", "node": "str", "property": "str", "from": "NotRequired[Any]", "to": "NotRequired[Any]"})


class GraphChange3(TypedDict):
    r"""A branch is attached or detached; the rest of the graph is not interrupted."""
    label: Literal["branch"]
    action: Literal["attach", "detach"]
    segment: str


class GraphChange4(TypedDict):
    r"""The pipeline is restarted."""
    label: Literal["relaunch"]
    reason: str


GraphChange: TypeAlias = "GraphChange2 | GraphChange3 | GraphChange4"


class GraphFaultUsedAt(TypedDict):
    r"""Of a fault in a part: where a chain or slot uses the part."""
    line: int
    column: int
    #: The graph file that contains it: one that is extended, or has a part; null for the graph's own text.
    file: str | None


class GraphFault(TypedDict):
    line: int
    column: int
    #: The graph file that contains it: one that is extended, or has a part; null for the graph's own text.
    file: str | None
    #: Of a fault in a part: where a chain or slot uses the part.
    used_at: NotRequired[GraphFaultUsedAt]
    #: Stable error code.
    code: str
    #: Description of the fault.
    message: str
    #: The expected value.
    expected: NotRequired[str]
    #: The closest valid name.
    suggestion: NotRequired[str]


class GraphSummary(TypedDict):
    name: str
    #: `installed`: a graph of the service; `own`: stored by this key.
    origin: Literal["installed", "own"]
    #: Of an own graph; null if installed, as the next three.
    version: int | None
    digest: str | None
    author: str | None
    created_at: str | None
    about: str
    #: JSON Schema of `params` of `POST /start`.
    params: dict[str, Any]
    #: Parameters that refer to resources on the server: clients cannot set them.
    reserved_params: list[str]
    #: False if it requires a reserved parameter or is not valid.
    can_start: bool
    #: Features that a process of this graph offers, including slot names.
    offers: list[str]
    #: Slots that can be attached while it runs, with the schema of their parameters.
    slots: dict[str, dict[str, Any]]


class GraphTestFailure(TypedDict):
    #: What was found and what was expected, or why the run failed.
    message: str
    line: int
    column: int


class GraphTestNumber(TypedDict):
    #: As written in `expect`: `tracks.person`.
    key: str
    found: float
    #: As written: `3..5`.
    expected: str
    passed: bool
    line: int
    column: int


class GraphTestReport(TypedDict):
    graph: str
    #: Null for an installed graph.
    version: int | None
    #: All of these tests passed.
    passed: bool
    #: In the order of the graph.
    tests: list[GraphTestResult]


class GraphTestResult(TypedDict):
    name: str
    passed: bool
    seconds: float
    #: Every expected number; empty if the run failed.
    numbers: list[GraphTestNumber]
    #: Empty for a test that passed.
    failures: list[GraphTestFailure]


class GraphValidation(TypedDict):
    valid: bool
    faults: list[GraphFault]


class GraphVersionBases(TypedDict):
    name: str
    #: SHA-256 of its text, and of those that it is made of, when the version was stored.
    digest: str
    #: The installed graph has changed since, or was uninstalled: the version may compile to something else. Store its text again to accept the change.
    has_changed: bool


class GraphVersion(TypedDict):
    name: str
    version: int
    #: SHA-256 of its text.
    digest: str
    #: Name of the key that stored it.
    author: str
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: Processes start with this version by default.
    is_current: bool
    #: Installed graphs that it extends or uses parts of; null: stored before these were recorded.
    bases: list[GraphVersionBases] | None


class Key(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    key_uuid: str
    #: The account.
    username: str
    name: str
    #: First characters of the key.
    prefix: str
    #: `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts.
    scopes: list[Literal["read", "publish", "operate", "admin"]]
    #: The key sees and uses only these sources, and what belongs to them. Null: all sources of the account.
    source_uuids: list[str] | None
    #: Who signed in to the console: then this is the session. Null: a key.
    person: str | None
    state: Literal["valid", "expired", "revoked"]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: To about a minute. Null: not used yet.
    last_used_at: str | None
    expires_at: str | None


class Landmark(TypedDict):
    #: Where it is in the picture, as a fraction of its width, from the left.
    x: float
    #: Where it is in the picture, as a fraction of its height, from the top.
    y: float
    #: Time of the frame, as in detection messages, within the last minute. Default: the last frame. ISO 8601: `2026-05-17T08:30:00Z`, or a day.
    timestamp: NotRequired[str]
    #: Degrees, WGS-84.
    latitude: float
    #: Degrees, WGS-84.
    longitude: float
    #: Metres above mean sea level. Default: on the ground.
    altitude: NotRequired[float]


class Login(TypedDict):
    valid: Literal[True]
    username: str
    product: str
    #: Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire.
    expiration_date: str
    key: UsedKey


class MapSettingsTiles(TypedDict):
    #: Template with `{z}`, `{x}` and `{y}`: an address of another host, in which `{s}` is a, b or c, or a path below this service, which needs the key.
    url: str
    min_zoom: int
    #: The largest zoom with tiles: for larger ones, these are enlarged.
    max_zoom: int
    #: To be shown on the map; may contain HTML. Empty: none.
    attribution: str


class MapSettingsTerrain(TypedDict):
    #: Template, as for `tiles`.
    url: str
    min_zoom: int
    #: The largest zoom with tiles: for larger ones, these are enlarged.
    max_zoom: int


class MapSettings(TypedDict):
    #: The background (`map.tiles`). Null: none.
    tiles: MapSettingsTiles | None
    #: Shading of the operator's terrain (`terrain.folder`), to be laid over the background. Null: none.
    terrain: MapSettingsTerrain | None


class Model(TypedDict):
    name: str
    #: `installed`: a model of the service; `own`: uploaded by this key.
    origin: Literal["installed", "own"]
    #: Names of its classes.
    labels: list[str]
    #: Of an own model; null if installed, as the next four.
    about: str | None
    digest: str | None
    size_bytes: int | None
    author: str | None
    created_at: str | None


class MqttAlertOutput(TypedDict):
    #: Address of the broker: `host`, `host:port`, `mqtt://host:port` or `mqtts://host:port`.
    host: str
    #: Topic for the notifications: 1 to 1024 characters without `+`, `#` and control characters.
    topic: str
    qos: NotRequired[Literal[0, 1, 2]]
    #: User name of 1 to 255 characters.
    username: NotRequired[str]
    #: Responses show `***`. Send `***` to keep the stored password.
    password: NotRequired[str]


class NewAlertTrigger(TypedDict):
    r"""When a cell is dense."""
    #: Minimum number of tracks in one cell.
    count: NotRequired[int]
    #: The cell must hold that many tracks for this time without interruption.
    for_seconds: NotRequired[float]
    #: Minimum time between two `triggered`, and before an `updated`. `cleared` is always sent at once.
    cooldown_seconds: NotRequired[float]


class NewAlertTrigger2(TypedDict):
    r"""How many tracks must cross, and in which direction."""
    #: Minimum number of tracks that crossed the line within the window. Each track counts once, however often it crosses.
    count: NotRequired[int]
    #: `forward`: from the left of the line to its right, facing from its first point to its second. For a line from top to bottom that is from the right of the image to the left.
    direction: NotRequired[Literal["forward", "backward", "any"]]
    #: Minimum time between two notifications. With 0, every further crossing notifies while enough tracks have crossed.
    cooldown_seconds: NotRequired[float]


class NewAlertTrigger3(TypedDict):
    r"""When a track counts as found."""
    #: A track must match the filter inside the region for this time without interruption.
    for_seconds: NotRequired[float]
    #: Notify once per track. If false, notify again each time the track leaves, or stops matching, and returns.
    once_per_track: NotRequired[bool]


class NewAlertTrigger4(TypedDict):
    r"""When vehicles are a convoy."""
    #: Minimum number of vehicles of a new convoy.
    count: NotRequired[int]
    #: Time for which vehicles drive together before they are a convoy or join it, and are apart before they have left it.
    for_seconds: NotRequired[float]


class NewAlertRegion(TypedDict):
    r"""Where tracks count. Default: the whole image."""
    #: `image`: points are [x, y] in fractions of the frame, from 0 at the left and top to 1. `geo`: points are [longitude, latitude] in degrees, for geolocated tracks; north is up.
    type: NotRequired[Literal["image", "geo"]]
    #: Corners in order. The polygon must not cross or touch itself; its edge is inside. On the map each edge takes the shorter way around the earth. The position of an object is the middle of the lower edge of its box. Default: the whole image.
    polygon: NotRequired[list[list[float]]]


class NewAlertRegion2(TypedDict):
    r"""The line."""
    #: `image`: points are [x, y] in fractions of the frame, from 0 at the left and top to 1. `geo`: points are [longitude, latitude] in degrees, for geolocated tracks; north is up.
    type: NotRequired[Literal["image", "geo"]]
    #: First and second point of the line, ends included. A track crosses it where the middle of the lower edge of its box does. On the map the line takes the shorter way around the earth.
    line: list[list[float]]


class NewAlertFilter(TypedDict):
    r"""Which tracks count. All conditions must hold. Default: all tracks."""
    #: Class names of the model, such as `person`. Default or empty: all classes.
    class_names: NotRequired[list[str]]
    #: Minimum confidence, from 0 to 1. Detections below it are ignored.
    min_confidence: NotRequired[float]
    #: Minimum area of the box, as a fraction of the frame.
    min_area: NotRequired[float]
    #: Maximum area of the box, as a fraction of the frame.
    max_area: NotRequired[float]
    #: Minimum time since the track was first detected, in seconds.
    min_track_age_seconds: NotRequired[float]
    #: Minimum speed over the ground, in metres per second. A track of unknown speed does not match.
    min_speed_mps: NotRequired[float]
    #: Maximum speed over the ground, in metres per second. A track of unknown speed does not match.
    max_speed_mps: NotRequired[float]


class NewAlertParameters(TypedDict):
    r"""The grid: cells of equal size in the bounding box of the region."""
    #: Number of cells from the top of the region to its bottom; on the map from south to north.
    rows: NotRequired[int]
    #: Number of cells from the left of the region to its right; on the map from west to east.
    columns: NotRequired[int]


class NewAlertParameters2(TypedDict):
    r"""The time window."""
    #: Length of the time window in which crossings count.
    window_seconds: NotRequired[float]


class NewAlertParameters3(TypedDict):
    r"""Which track to follow, and how."""
    #: Follow only this track. Not together with `select`.
    track_id: NotRequired[int]
    #: Which of the matching tracks to follow: the one with the largest box, with the highest confidence, or the oldest one. Default: `largest`, unless `track_id` is given.
    select: NotRequired[Literal["largest", "most_confident", "first"]]
    #: Time between two reported positions.
    interval_seconds: NotRequired[float]
    #: The track is lost when it was not detected for this time, or when tracking ended it.
    lost_after_seconds: NotRequired[float]


class NewAlertParameters4(TypedDict):
    r"""Which vehicles drive together, and how often to report."""
    #: Maximum distance of a vehicle to the next one, in metres on the map.
    max_gap_m: NotRequired[float]
    #: Maximum difference of their speeds, in metres per second.
    max_speed_difference_mps: NotRequired[float]
    #: Maximum difference of their headings in degrees. Oncoming vehicles differ by 180.
    max_heading_difference: NotRequired[float]
    #: Time between two reports of a convoy that has not changed.
    interval_seconds: NotRequired[float]
    #: A vehicle that was not detected for this time has left.
    lost_after_seconds: NotRequired[float]


class NewAlertParameters5(TypedDict):
    r"""Which rule of the graph."""
    #: Name of the rule: `alert` in the graph.
    rule: str


class NewAlert(TypedDict):
    r"""`GET /alert_description` returns the configuration schema of each type."""
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: str
    type: Literal["grid-density", "flow-control", "follow-track", "filter-search", "convoy", "graph-rule"]
    #: Destinations, up to 16. Each receives every notification in order, at least once. Without one, `GET /notices` lists the notifications.
    output: NotRequired[list[AlertOutput]]
    #: Null: none.
    evidence: NotRequired[Evidence | None]
    status: NotRequired[Literal["active", "inactive"]]
    schedule: NotRequired[Schedule | None]
    #: An object; `GET /alert_description` returns its schema.
    trigger: NotRequired[NewAlertTrigger | NewAlertTrigger2 | dict[str, Any] | NewAlertTrigger3 | NewAlertTrigger4]
    #: An object; `GET /alert_description` returns its schema.
    region: NotRequired[NewAlertRegion | NewAlertRegion2 | dict[str, Any]]
    #: An object; `GET /alert_description` returns its schema.
    filter: NotRequired[NewAlertFilter | dict[str, Any]]
    #: An object; `GET /alert_description` returns its schema.
    parameters: NotRequired[NewAlertParameters | NewAlertParameters2 | NewAlertParameters3 | dict[str, Any] | NewAlertParameters4 | NewAlertParameters5]


class NewBranch(TypedDict):
    #: A slot of the process's graph.
    slot: str
    #: Parameters of the slot; `GET /process/{process_uuid}/branches` returns their schema.
    params: NotRequired[dict[str, Any]]


class NewCalibration(TypedDict):
    landmarks: list[Landmark]


NewClip = TypedDict("NewClip", {"source_uuid": "str", "from": "float | str", "to": "float | str", "boxes": "NotRequired[bool]", "process_uuid": "NotRequired[str | None]"})


class NewEventSubscription(TypedDict):
    #: Destinations, up to 4, as those of an alert. Each receives every event in order, at least once.
    output: list[EventOutput]
    #: Types of events to send; empty: all, also those of later versions.
    types: NotRequired[list[Literal["stream-began", "stream-ended", "stream-rejected", "process-started", "process-waiting", "process-reconnecting", "process-reconnected", "process-restarted", "process-failed", "process-finished", "recording-closed", "evidence-ready", "evidence-failed", "clip-ready", "clip-failed", "enhancement-finished", "enhancement-failed", "quota-near"]]]
    #: Lower case; upper case is accepted.
    source_uuid: NotRequired[str]


class NewOutput(TypedDict):
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: str
    type: Literal["rtsp", "rtmp", "srt", "detection_data", "drone_data", "cot", "mqtt", "mpegts"]
    #: For video outputs and `mqtt`, with the type as its scheme (or `rtmps`, `mqtts`), for `cot`, with `udp`, `tcp`, `tls` or `mqtt`, and for `mpegts`, with `udp` or `srt`. Ignored for other types.
    url: NotRequired[str]
    #: Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video.
    settings: NotRequired[Literal["360p", "720p", "1080p"] | None]
    #: Extension: the codec of the video. H.265 needs a lower bit rate than H.264 and, without a hardware encoder, about three times the processor time; most browsers do not play it. Ignored for outputs without video. Default: `h264`.
    codec: NotRequired[Literal["h264", "h265"]]
    #: Extension: draw boxes, labels and trails on the video. Ignored for outputs without video. Default: true, and false for `mpegts`, whose objects are metadata.
    boxes: NotRequired[bool]
    #: Extension: bit rate of the video in kbit/s, from 50 to 100000. Null: that of the resolution (360p: 1000, 720p: 2500, 1080p: 4500; otherwise 3000). Ignored for outputs without video.
    bitrate: NotRequired[int | None]
    #: Extension: send the sound of the source (AAC), too, as it was received and in step with the picture. A source without it is sent without sound, and `status_detail` says so. WebRTC has no sound. Only for outputs with video. Default: false.
    audio: NotRequired[bool | Literal[False]]
    #: For `cot`: `TakSettings`. Ignored for other types.
    tak: NotRequired[TakSettings]


class NewStream(TypedDict):
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: str
    #: A URL that begins with rtsp:// or rtsps:// or rtmp:// or rtmps:// or srt:// or udp:// and a host, of at most 2048 characters.
    input_url: str
    stream_type: Literal["rtsp", "rtmp", "srt", "udp"]
    #: Null: no telemetry.
    telemetry_cfg: NotRequired[TelemetryCfg | None]
    #: `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all.
    recording: NotRequired[Literal["always", "on_alert", "off"]]


class NewSubscriptionNotifierPolicyArgs(TypedDict):
    #: Minimum time between two notifications.
    backoff_seconds: NotRequired[float]


class NewSubscription(TypedDict):
    #: An http or https URL that accepts POST, of at most 2048 characters. A user and password in it are sent as HTTP Basic.
    notification_url: str
    #: `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0.
    event_type: Literal["new-tracks", "target-count"]
    auth_url: NotRequired[str | None]
    #: The first notification is sent at once; events within the interval are combined into the next.
    notifier_policy_type: NotRequired[Literal["backoff"]]
    notifier_policy_args: NotRequired[NewSubscriptionNotifierPolicyArgs]
    #: `full` adds the track entries of the detection message.
    notification_format: NotRequired[Literal["simple", "full"]]


class NewTelemetryFile(TypedDict):
    file: str
    #: Default: recognised by the first bytes of the file.
    format: NotRequired[Literal["native", "vendor_a", "dji_srt", "flight_csv", "mavlink"]]
    #: Where in the video the first sample of the file belongs, in seconds; negative if the file began before the video. Default: estimated.
    offset_seconds: NotRequired[float]
    #: Values that the file does not contain, as JSON: see TelemetryFileParameters.
    parameters: NotRequired[str]


class NewTracksNotification(TypedDict):
    #: Extension: identical in every copy of a notification, and equal to `webhook-id`: use it to detect duplicates.
    id: NotRequired[str]
    process_uuid: str
    #: UTC time of the newest frame in this notification.
    timestamp: str
    #: Extension: a test of the URL, not an event.
    sample: NotRequired[Literal[True]]
    type: Literal["new-tracks"]
    #: Number of new tracks.
    track_count: int
    #: Tracks as they first appeared, in that order; at most the first 1000.
    detections: list[WebhookDetection]
    #: For `full`: the same tracks as complete entries.
    tracks: NotRequired[list[TrackEntry]]


class NewVideo(TypedDict):
    #: An MP4, MOV, AVI or MPEG-TS file with the matching extension.
    file: str
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: NotRequired[str]
    #: Play the file as a live source: in real time, starting again at its end, like a camera.
    loop: NotRequired[bool]
    #: The telemetry of the flight, as in `POST /source/{source_id}/telemetry`.
    telemetry: NotRequired[str]
    telemetry_format: NotRequired[Literal["native", "vendor_a", "dji_srt", "flight_csv", "mavlink"]]
    telemetry_offset_seconds: NotRequired[float]
    #: JSON.
    telemetry_parameters: NotRequired[str]


class NodeCapacity(TypedDict):
    r"""What it offers to processes; null: not limited."""
    processes: int | None
    cores: float | None
    memory_bytes: int | None


class NodeReserved(TypedDict):
    r"""What its processes have reserved."""
    processes: int | None
    cores: float | None
    memory_bytes: int | None


class NodeUsed(TypedDict):
    r"""What is in use on its machine, as measured."""
    cores: float
    memory_bytes: int


class Node(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: `draining`: it takes no more processes and hands its own over. `lost`: it has not renewed its lease; other nodes take its processes over.
    state: Literal["live", "draining", "lost"]
    #: It answered this request.
    is_this: bool
    version: str
    url: str | None
    labels: dict[str, str]
    #: What it offers to processes; null: not limited.
    capacity: NodeCapacity
    #: What its processes have reserved.
    reserved: NodeReserved
    used: NodeUsed | None
    #: UTC, ISO 8601 with milliseconds.
    started_at: str
    drains_until: str | None


class NodeListing(TypedDict):
    nodes: list[Node]
    #: Processes that no node has room for.
    waiting: int


class Notice(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Identical in every copy of this notification: use it to detect duplicates.
    id: str
    #: The alert. For a rule in the graph itself, a UUID that is the same for all its notifications.
    alert_uuid: str
    #: Of a rule in the graph itself: its name, `alert`.
    alias: str
    type: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    #: `evidence-ready`: a second notification with the same `id`, when the evidence is complete.
    event: Literal["triggered"] | Literal["updated"] | Literal["cleared"] | Literal["evidence-ready"]
    tracks: list[TrackEntry]
    data: dict[str, Any]
    evidence: NotRequired[EvidenceInfo]
    #: Works without a key, for a limited time. Until the clip is complete it answers 409 with `Retry-After`.
    clip_url: NotRequired[str]
    #: JPEG. Works without a key, for a limited time.
    snapshot_url: NotRequired[str]
    reviewed: bool
    reviewed_at: str | None
    #: Username of the key.
    reviewed_by: str | None
    comment: str | None


class NoticeReview(TypedDict):
    reviewed: NotRequired[bool]
    comment: NotRequired[str | None]


class OldInformationSubscription(TypedDict):
    #: Minutes that processes have run.
    consumed_minutes: float
    #: Remaining minutes. 1000000000 if the key has no limit.
    remaining_minutes: float
    #: Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire.
    expiration_date: str


class OldInformation(TypedDict):
    #: Version of the API.
    version: str
    uploaded_video_storage: VideoStorage
    subscription: OldInformationSubscription
    product: str


class Output(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    output_uuid: str
    alias: str
    type: Literal["rtsp", "rtmp", "srt", "detection_data", "drone_data", "cot", "mqtt", "mpegts"]
    #: Credentials are shown as `***`.
    url: str | None
    #: Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video.
    settings: Literal["360p", "720p", "1080p"] | None
    #: Extension. Null for outputs without video.
    codec: Literal["h264", "h265"] | None
    #: Extension: boxes, labels and trails are drawn. Null for outputs without video.
    boxes: bool | None
    #: Extension: kbit/s. Null: that of the resolution, or an output without video.
    bitrate: int | None
    #: Extension: with the sound of the source. Null for outputs without video.
    audio: bool | None
    tak: NotRequired[TakSettings]
    #: For `rtsp`: the URL for playback.
    play_url: str | None
    #: The process that it is attached to.
    attached_to: str | None
    status: Literal["idle", "starting", "live", "retrying", "failed"]
    #: Why it is not live or receives no data, if known; or why an output with `audio` has no sound.
    status_detail: str | None
    #: For `cot` and `mqtt`: messages.
    frames_sent: int
    #: Frames that arrived faster than they could be encoded or sent.
    frames_dropped: int
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: For `rtsp`: HLS. Works without a key, for a limited time.
    hls_url: NotRequired[str]
    #: For `rtsp`: WHEP. Works without a key, for a limited time.
    webrtc_url: NotRequired[str]


class OutputChange(TypedDict):
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: NotRequired[str]
    url: NotRequired[str | None]
    #: Maximum number of lines. Smaller video is not enlarged, and the aspect ratio is kept. Null keeps the input size. Ignored for outputs without video.
    settings: NotRequired[Literal["360p", "720p", "1080p"] | None]
    codec: NotRequired[Literal["h264", "h265"] | None]
    boxes: NotRequired[bool | None]
    #: Extension: bit rate of the video in kbit/s, from 50 to 100000. Null: that of the resolution (360p: 1000, 720p: 2500, 1080p: 4500; otherwise 3000). Ignored for outputs without video.
    bitrate: NotRequired[int | None]
    audio: NotRequired[bool | None]


class PipelineSegmentsNodes(TypedDict):
    name: str
    #: Name of the step that created it.
    step: str
    element: str
    kind: Literal["native", "typescript"]
    factory: str
    properties: dict[str, Any]


PipelineSegmentsLinks = TypedDict("PipelineSegmentsLinks", {"from": "str", "from_pad": "NotRequired[str]", "to": "str", "to_pad": "NotRequired[str]", "caps": "NotRequired[str]"})


class PipelineSegments(TypedDict):
    name: str
    #: The tee that it is connected to; null for the main segment.
    tee: str | None
    nodes: list[PipelineSegmentsNodes]
    links: list[PipelineSegmentsLinks]


class Pipeline(TypedDict):
    segments: list[PipelineSegments]
    #: Its native part as a gst-launch-1.0 command line.
    launch: str


class Probe(TypedDict):
    status: Literal["ok"]


class ProblemErrors(TypedDict):
    path: str
    message: str


class Problem(TypedDict):
    #: URI of the error type: `about:blank` or a page that explains it.
    type: str
    title: str
    status: int
    #: What was expected, what was received, and what to do.
    detail: str
    #: Stable error code.
    code: str
    #: For invalid input: one entry per fault.
    errors: NotRequired[list[ProblemErrors]]
    #: As in the header `X-Request-Id` and in the server's log.
    request_id: NotRequired[str]


class ProcessError(TypedDict):
    code: str
    detail: str


class ProcessLastError(TypedDict):
    #: UTC, ISO 8601 with milliseconds.
    at: str
    #: The node of the graph that failed, if known.
    node: str | None
    #: The exception, or how the runner exited.
    detail: str
    #: Stack trace of the element, innermost first: `at process (elements/x/x.ts:12:7)`. Only with an operator key.
    trace: NotRequired[list[str]]


class ProcessOutputStates(TypedDict):
    #: Lower case; upper case is accepted.
    output_uuid: str
    type: Literal["rtsp", "rtmp", "srt", "detection_data", "drone_data", "cot", "mqtt", "mpegts"]
    status: Literal["idle", "starting", "live", "retrying", "failed"]
    #: Why it is not live or receives no data, if known; or why an output with `audio` has no sound.
    status_detail: str | None
    #: For `cot` and `mqtt`: messages.
    frames_sent: int
    #: Frames that arrived faster than they could be encoded or sent.
    frames_dropped: int


class ProcessRecording(TypedDict):
    is_recording: bool
    #: Why it is not being recorded.
    status_detail: str | None
    #: Frames that arrived faster than they could be encoded, since the start of its runner.
    frames_dropped: int


class ProcessRecordings(TypedDict):
    index: int
    #: Null: not known.
    started_at: str | None
    #: Of its video, as far as it is written. Null: not known.
    duration_seconds: float | None
    #: UTC, ISO 8601 with milliseconds.
    written_at: str
    size_bytes: int
    #: Works without a key, for a limited time.
    download_url: str


class ProcessTelemetry(TypedDict):
    #: `connecting`: the broker is unreachable; `waiting`: no message received yet; `stale`: the last message is too old to be used.
    state: Literal["connecting", "waiting", "receiving", "stale", "static"]
    #: Time since the last message was received.
    age_ms: float | None
    #: Why there is no usable telemetry, or level ground is assumed although there is terrain data: what is missing, and what to do.
    detail: str | None
    #: `reduced`: angles and estimated distances, no coordinates.
    geolocation: Literal["full", "reduced", "none"]
    #: Added to the timestamps of messages to get video time; configured or estimated.
    offset_ms: float | None
    #: All received messages, used or not.
    messages_received: int
    #: Messages that could not be read.
    messages_refused: int


class ProcessStatsLatencyMs(TypedDict):
    p50: float
    p95: float


class ProcessStatsLink(TypedDict):
    round_trip_ms: float
    packets_received: int
    #: Found missing. SRT requests them again.
    packets_lost: int
    #: The receive buffer, as negotiated: packets that arrive later are lost for good.
    latency_ms: float


class ProcessStats(TypedDict):
    r"""For the last second in which it ran. Rates are 0 while it does not run; the last values of an ended process are kept for a limited time."""
    fps_in: float
    #: Frames on which inference ran.
    fps_processed: float
    fps_out: float
    #: Since the start of its runner.
    frames_dropped: int
    latency_ms: ProcessStatsLatencyMs
    inference_ms: float
    #: Restarts after crashes; `last_error` has the reason.
    restarts: int
    #: For a file: frames that were not processed because of crashes. Null for a live source, whose frames are not counted while its runner restarts.
    frames_lost: int | None
    #: Extension: the connection to an SRT source. Null: not connected, or of another protocol.
    link: ProcessStatsLink | None


class Process(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    state: Literal["starting", "waiting", "running", "paused", "stopping", "finished", "failed"]
    #: The live source was lost and Windhover reconnects.
    reconnecting: bool
    #: Its runner crashed and is being restarted: no frames are processed. `last_error` has the reason.
    restarting: bool
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: Credentials are shown as `***`. For files: the name.
    source_url: str
    graph: str
    #: Of an own graph: the version that it runs. Null for other graphs.
    graph_version: int | None
    params: dict[str, Any]
    started_at: str | None
    finished_at: str | None
    #: Why it failed or stopped on its own.
    error: ProcessError | None
    #: The reason of the last crash of its runner, also after recovery. A process that crashes too often changes to `failed`, with `error`.
    last_error: ProcessLastError | None
    outputs: list[str]
    #: Status of the outputs, while it is active.
    output_states: list[ProcessOutputStates]
    #: Status of its recording, while it is active. Null if the key has no process recording.
    recording: ProcessRecording | None
    #: Files of the processed video in order, as far as they are retained. For keys with process recording.
    recordings: list[ProcessRecordings]
    alerts: list[str]
    #: Null: the source has no telemetry.
    telemetry: ProcessTelemetry | None
    #: For the last second in which it ran. Rates are 0 while it does not run; the last values of an ended process are kept for a limited time.
    stats: ProcessStats


class ProcessGraphSegmentsNodes(TypedDict):
    name: str
    #: Name of the step that created it.
    step: str
    element: str
    kind: Literal["native", "typescript"]
    factory: str
    properties: dict[str, Any]


ProcessGraphSegmentsLinks = TypedDict("ProcessGraphSegmentsLinks", {"from": "str", "to": "str"})


class ProcessGraphSegmentsSteps(TypedDict):
    step: str
    frames: float
    fps: float
    mean_ms: float
    p95_ms: float
    queued: float | None
    capacity: float | None
    dropped: float | None


class ProcessGraphSegments(TypedDict):
    name: str
    tee: str | None
    nodes: list[ProcessGraphSegmentsNodes]
    links: list[ProcessGraphSegmentsLinks]
    #: Counters of each step so far.
    steps: list[ProcessGraphSegmentsSteps]


class ProcessGraph(TypedDict):
    graph: str
    about: str
    params: dict[str, Any]
    live_params: list[str]
    offers: list[str]
    slots: list[str]
    segments: list[ProcessGraphSegments]


class ProcessGraphEdgeFrame(TypedDict):
    #: The format of the stream, as GStreamer writes it.
    caps: str
    pts_ms: float | None
    bytes: int
    keyframe: bool
    #: JPEG in base64, for raw video. Larger frames are shrunk.
    picture: str | None
    #: What elements have written to the frame: detections, tracks, telemetry.
    metadata: dict[str, Any]


ProcessGraphEdge = TypedDict("ProcessGraphEdge", {"from": "str", "to": "str", "frame": "ProcessGraphEdgeFrame | None", "detail": "str | None"})


class ProcessRecordingChange(TypedDict):
    #: `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all.
    mode: Literal["always", "on_alert", "off"]


class ProcessRecordingSetting(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all.
    mode: Literal["always", "on_alert", "off"]
    #: Of `on_alert`: when the recording ends, without further notices.
    wanted_until: str | None


class ProcessUpgrade(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    graph: str
    version: int
    previous_version: int
    dry_run: bool
    #: If the pipeline is relaunched, only the reasons for that. Empty: the same pipeline.
    changes: list[GraphChange]
    #: All params of the graph in this version.
    params: dict[str, Any]


class ProcessUrls(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Processed frames over HTTP.
    feed_url: str
    #: Server-sent events.
    events_url: str
    #: Websocket with detections.
    detection_data_url: str
    #: Websocket with telemetry.
    drone_data_url: str
    #: UTC, ISO 8601 with milliseconds.
    expires_at: str


class RecordingSegments(TypedDict):
    index: int
    #: UTC, ISO 8601 with milliseconds.
    started_at: str
    duration_seconds: float
    size_bytes: int
    download_url: str


class Recording(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    alias: str
    #: UTC, ISO 8601 with milliseconds.
    started_at: str
    stopped_at: str | None
    #: Why it ended, if not with its stream.
    detail: str | None
    duration_seconds: float
    size_bytes: int
    segments: list[RecordingSegments]


class RecordingChange(TypedDict):
    #: `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all.
    mode: NotRequired[Literal["always", "on_alert", "off"]]
    #: Seconds of video before the start of a recording that it contains. They are kept while the source is not recorded.
    pre_roll_seconds: NotRequired[int]


class RecordingSetting(TypedDict):
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: `always`: from the start of the stream to its end. `on_alert`: some seconds from each notice of an alert on. `off`: not at all.
    mode: Literal["always", "on_alert", "off"]
    #: Seconds of video before the start of a recording that it contains. They are kept while the source is not recorded.
    pre_roll_seconds: int
    #: The recording in progress.
    recording_uuid: str | None
    #: Of `on_alert`: when the recording ends, without further notices.
    wanted_until: str | None
    #: Why the video of a camera that a process pulls cannot be recorded.
    detail: NotRequired[str]


class ReportTrackImagePatches(TypedDict):
    #: JPEG in base64.
    image: str
    confidence: float
    #: POSIX time in seconds, with milliseconds.
    timestamp: float


class ReportTrackFirstLocation(TypedDict):
    r"""WGS-84, metres above mean sea level. Null: the position is unknown."""
    latitude: float
    longitude: float
    altitude: float
    #: POSIX time in seconds, with milliseconds.
    timestamp: float


class ReportTrackLastLocation(TypedDict):
    r"""WGS-84, metres above mean sea level. Null: the position is unknown."""
    latitude: float
    longitude: float
    altitude: float
    #: POSIX time in seconds, with milliseconds.
    timestamp: float


class ReportTrack(TypedDict):
    track_id: int
    class_id: int
    category_name: str
    #: The last one: [x, y, width, height] in the original resolution.
    bbox: list[float]
    #: Confidences at `timestamps`: the stored sightings in the window. One is stored every second, and more often while the object moves; after ten minutes, one per 600th of the track's age.
    list_confidences: list[float]
    #: Over all sightings, like the next two.
    max_confidence: float
    min_confidence: float
    mean_confidence: float
    #: The best image of the object. Empty if there is none yet, or with `patches=false`.
    image_patches: list[ReportTrackImagePatches]
    timestamps: list[float]
    #: It was visible at the time of the request.
    is_live: bool
    #: POSIX time in seconds, with milliseconds.
    first_seen: float
    #: POSIX time in seconds, with milliseconds.
    last_seen: float
    first_location: ReportTrackFirstLocation | None
    last_location: ReportTrackLastLocation | None
    enhanced_data: NotRequired[EnhancedData]


class RunningDemo(TypedDict):
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str


ScheduleWindows = TypedDict("ScheduleWindows", {"days": "NotRequired[list[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"]]]", "from": "str", "to": "str"})


class Schedule(TypedDict):
    r"""The alert is evaluated only within these windows, by the capture time of the frames and the wall clock of the time zone."""
    #: Name of the IANA time zone, such as `Europe/Berlin` or `UTC`.
    time_zone: str
    windows: list[ScheduleWindows]


class Shadow(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    state: Literal["starting", "running", "finished", "failed"]
    #: Why it failed.
    error: str | None
    graph: str
    #: Of a stored graph.
    version: int | None
    #: All params of the graph, with defaults.
    params: dict[str, Any]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    finished_at: str | None
    comparison: ShadowComparison


class ShadowComparisonFrames(TypedDict):
    r"""Frames on which inference ran, since the shadow's first one; `compared`: those of both with the same capture time, on which all that follows is based."""
    live: int
    shadow: int
    compared: int


class ShadowComparisonClassesBoxes(TypedDict):
    live: int
    shadow: int
    matched: int


class ShadowComparisonClassesTracks(TypedDict):
    r"""`matched`: together in at least half of the frames of the process's track."""
    live: int
    shadow: int
    matched: int


class ShadowComparisonClasses(TypedDict):
    name: str
    boxes: ShadowComparisonClassesBoxes
    #: `matched`: together in at least half of the frames of the process's track.
    tracks: ShadowComparisonClassesTracks


class ShadowComparison(TypedDict):
    #: Frames on which inference ran, since the shadow's first one; `compared`: those of both with the same capture time, on which all that follows is based.
    frames: ShadowComparisonFrames
    #: Frames of the shadow for each frame of the process: below 1, the shadow does not keep up.
    speed: float | None
    #: Share of the process's boxes that the shadow has: an overlap (IoU) of at least 0.5, the same class.
    recall: float | None
    #: Share of the shadow's boxes that the process has.
    precision: float | None
    #: F1 of both.
    agreement: float | None
    classes: list[ShadowComparisonClasses]
    #: False: there were too many classes or tracks to count them all.
    is_complete: bool


class SignInOptionsOidc(TypedDict):
    #: Of the identity provider, for people.
    name: str
    #: A browser goes there to sign in.
    url: str


class SignInOptions(TypedDict):
    #: The request has a valid session or key.
    signed_in: bool
    #: Null: only API keys can be used.
    oidc: SignInOptionsOidc | None


class SignedOut(TypedDict):
    signed_out: Literal[True]


class Source(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    alias: str
    type: Literal["file", "stream"]
    #: Null: a file.
    stream_type: Literal["rtsp", "rtmp", "srt", "udp"] | None
    #: Credentials are shown as `***`. For a file, the name of the upload.
    input_url: str
    telemetry_cfg: TelemetryCfg | None
    #: True: a file that is played as a live source and starts again at its end.
    loop: bool
    #: Of a stream that is published to this service: `offline`, `streaming`, or `processing` while it is streaming and a process runs on it. Of files, and of streams elsewhere, which are not watched: `processing`, or else `unknown`.
    status: Literal["unknown", "offline", "streaming", "processing"]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: Media-server sources only. Works without a key, for a limited time.
    hls_url: NotRequired[str]
    #: WHEP. Media-server sources only. Works without a key, for a limited time.
    webrtc_url: NotRequired[str]


class SourceChange(TypedDict):
    r"""Omitted fields are kept. A change of telemetry takes effect at the next start."""
    #: A label of 1 to 255 characters, not blank, without control characters, zero-width characters and bidirectional controls.
    alias: NotRequired[str]
    #: Null: no telemetry.
    telemetry_cfg: NotRequired[TelemetryCfg | None]


class SourceDetails(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    alias: str
    type: Literal["file", "stream"]
    #: Null: a file.
    stream_type: Literal["rtsp", "rtmp", "srt", "udp"] | None
    #: Credentials are shown as `***`. For a file, the name of the upload.
    input_url: str
    telemetry_cfg: TelemetryCfg | None
    #: True: a file that is played as a live source and starts again at its end.
    loop: bool
    #: Of a stream that is published to this service: `offline`, `streaming`, or `processing` while it is streaming and a process runs on it. Of files, and of streams elsewhere, which are not watched: `processing`, or else `unknown`.
    status: Literal["unknown", "offline", "streaming", "processing"]
    #: UTC, ISO 8601 with milliseconds.
    created_at: str
    #: Media-server sources only. Works without a key, for a limited time.
    hls_url: NotRequired[str]
    #: WHEP. Media-server sources only. Works without a key, for a limited time.
    webrtc_url: NotRequired[str]
    #: Media-server sources only: why the last publisher was rejected, or why nothing can be published. Null: the last one was accepted.
    status_detail: str | None
    #: `h264` for example. Null: not known, as the next.
    codec: str | None
    width: int | None
    height: int | None
    #: Of a published stream: on average since it began.
    fps: float | None
    #: Of a file; of a published stream: since it began.
    duration_seconds: float | None
    #: Of a file; of a stream that is published on this node: received since it began.
    bytes: int | None


class SourceTelemetry(TypedDict):
    #: Lower case; upper case is accepted.
    source_uuid: str
    #: `misb_0601`: found in the video itself.
    format: str
    #: Null: it was found in the video.
    file_name: str | None
    samples: int
    #: Where in the video its first sample belongs.
    from_seconds: float
    #: Where in the video its last sample belongs.
    to_seconds: float
    #: How the times of the file were aligned to the video: `given` by you; `video_time`: the file states times in the video; `recording_flag`: it states when the camera recorded; `creation_time` of the video; `same_start`: both are taken to start together.
    offset_method: Literal["given", "video_time", "recording_flag", "creation_time", "same_start"]
    #: Standard deviation of that alignment. Above 0.05, a process refines it by comparing the motion of the image with the telemetry.
    offset_error_seconds: float
    #: What the file lacks for geolocation, and what to do.
    detail: str | None
    #: UTC, ISO 8601 with milliseconds.
    created_at: str


class StartProcess(TypedDict):
    #: Parameters of the graph; `GET /graphs/{name}` returns their schema. The source is not a parameter.
    params: NotRequired[dict[str, Any]]
    #: Of a file that is played once: the process is `paused` when it has started. Nothing is sent, counted or stored until `POST /process/{process_uuid}/resume`: connect sockets, outputs, alerts and webhooks before, and they get everything from the first frame on.
    paused: NotRequired[bool]
    #: Where several nodes form one service: run only on a node with these labels (`cluster.labels`).
    node_labels: NotRequired[dict[str, str]]
    #: Of a live source: answer at once, also while it is offline. The process is `waiting` until the first frame of the source has been decoded.
    wait: NotRequired[bool]
    #: With `wait`: the process fails (`source_not_live`) if no frame arrives within this time, counted each time that it begins to wait. Default: it waits for ever.
    wait_seconds: NotRequired[float]
    #: With `wait`: wait again when the source is lost for some seconds, instead of failing after `reconnect.give_up_seconds`.
    keep: NotRequired[bool]


class StartedProcess(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Processed frames over HTTP. Contains the key.
    feed_url: str
    #: Websocket with detections. Contains the key.
    detection_data_url: str
    #: Where telemetry is received: the URL of the websocket with the key, `mqtt://host:port/topic`, `static`, or `Not configured`.
    telemetry_url: str


class StateEventError(TypedDict):
    code: str
    detail: str


class StateEventLastError(TypedDict):
    #: UTC, ISO 8601 with milliseconds.
    at: str
    #: The node of the graph that failed, if known.
    node: str | None
    #: The exception, or how the runner exited.
    detail: str
    #: Stack trace of the element, innermost first: `at process (elements/x/x.ts:12:7)`. Only with an operator key.
    trace: NotRequired[list[str]]


class StateEvent(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    state: Literal["starting", "waiting", "running", "paused", "stopping", "finished", "failed"]
    #: The source is lost and Windhover reconnects.
    reconnecting: bool
    error: StateEventError | None
    #: Its runner crashed and is being restarted.
    restarting: bool
    #: The reason of the last crash of its runner, also after recovery.
    last_error: StateEventLastError | None
    #: Number of events lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class StatsEventStatsLatencyMs(TypedDict):
    p50: float
    p95: float


class StatsEventStats(TypedDict):
    fps_in: float
    fps_processed: float
    fps_out: float
    frames_dropped: int
    latency_ms: StatsEventStatsLatencyMs
    inference_ms: float
    restarts: int
    #: For a file: frames that were not processed because of crashes. Null for a live source, whose frames are not counted while its runner restarts.
    frames_lost: int | None


class StatsEvent(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    stats: StatsEventStats
    #: Number of events lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class Status(TypedDict):
    status: Literal["ok"] | Literal["degraded"]
    #: Version of the API.
    version: str
    #: Version of Windhover.
    software_version: str
    uptime_seconds: float
    #: Only with a valid key: status per component, `ok` or the reason.
    components: NotRequired[dict[str, str]]


class StoppedProcesses(TypedDict):
    stopped: list[str]


class StreamStatsLink(TypedDict):
    round_trip_ms: float | None
    packets_received: int
    #: Found missing. SRT requests them again.
    packets_lost: int
    #: Lost for good: not received in time.
    packets_dropped: int


class StreamStats(TypedDict):
    #: By which it is published.
    protocol: Literal["rtsp", "rtmp", "srt", "webrtc"]
    width: int
    height: int
    has_audio: bool
    #: Players, HLS, WebRTC, recordings and processes.
    readers: int
    #: Frames received.
    frames: int
    bytes: int
    #: Frames dropped for readers that are too slow.
    frames_missed: int
    #: How irregularly frames arrive, compared with their timestamps (the estimate of RFC 3550).
    jitter_ms: float
    #: The connection to the publisher. Null: its protocol does not measure it (TCP).
    link: StreamStatsLink | None


class Subscription(TypedDict):
    #: Remaining minutes. 1000000000 if the key has no limit.
    remaining_minutes: float
    #: Minutes that processes have run.
    consumed_minutes: float
    #: Purchased minutes that are not allocated yet.
    pending_to_allocate: float
    #: Last day (UTC) on which the key is valid. 9999-12-31 if it does not expire.
    expiration_date: str


class SubscriptionChoice(TypedDict):
    #: As sent, or as shown.
    notification_url: NotRequired[str]
    #: `new-tracks`: a track appears for the first time since the subscription began. `target-count`: the number of visible targets differs from the last notification; a subscription begins at 0.
    event_type: NotRequired[Literal["new-tracks", "target-count"]]


class TakSettings(TypedDict):
    #: Name of the camera on maps. Default: the alias of the output.
    callsign: NotRequired[str]
    #: Send the position of the camera, its field of view, and the point in its centre.
    camera: NotRequired[bool]
    #: Address of the video that TAK clients open for the camera: `play_url` of an rtsp output.
    video_url: NotRequired[str]
    #: For `tls`: certificates of the authorities that the server is trusted by; default: the public ones (PEM).
    authorities: NotRequired[str]
    #: For `tls`: the name in the certificate of the server, if it is not the host of the URL.
    server_name: NotRequired[str]
    #: For `tls`: the certificate of this client, with its chain (PEM).
    certificate: NotRequired[str]
    #: For `tls`: its private key, not encrypted. Shown as `***` (PEM).
    key: NotRequired[str]


class TargetCountNotification(TypedDict):
    #: Extension: identical in every copy of a notification, and equal to `webhook-id`: use it to detect duplicates.
    id: NotRequired[str]
    process_uuid: str
    #: UTC time of the newest frame in this notification.
    timestamp: str
    #: Extension: a test of the URL, not an event.
    sample: NotRequired[Literal[True]]
    type: Literal["target-count"]
    #: Number of visible targets.
    track_count: int
    #: Number in the previous notification; 0 before the first.
    previous_count: int
    #: For `full`: the first 1000 of them.
    active_tracks: NotRequired[list[TrackEntry]]


class TelemetryCfgParameters(TypedDict):
    #: Address or host name of the broker, without a port.
    ip: str
    port: int
    #: The topic to subscribe to, 1 to 1024 characters without control characters. `+` matches one level, `#` at the end all further levels.
    topic: str
    #: User name for the broker, 1 to 255 characters.
    username: NotRequired[str]
    #: Password of that user, 1 to 255 characters without control characters. Shown as `***`; send `***` to keep the stored password.
    password: NotRequired[str]
    #: Degrees, horizontal field of view.
    sensor_hfov: NotRequired[float]
    #: Degrees, vertical field of view.
    sensor_vfov: NotRequired[float]
    #: Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`.
    geoid_separation_m: NotRequired[float | Literal["auto"]]
    #: Reference of the gimbal's yaw: true north, or the nose of the drone.
    gimbal_yaw_frame: NotRequired[Literal["north", "body"]]


class TelemetryCfgParameters2(TypedDict):
    #: Degrees, horizontal field of view.
    sensor_hfov: NotRequired[float]
    #: Degrees, vertical field of view.
    sensor_vfov: NotRequired[float]
    #: Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`.
    geoid_separation_m: NotRequired[float | Literal["auto"]]
    #: Reference of the gimbal's yaw: true north, or the nose of the drone.
    gimbal_yaw_frame: NotRequired[Literal["north", "body"]]


class TelemetryCfgParameters3(TypedDict):
    #: Degrees, horizontal field of view.
    sensor_hfov: float
    #: Degrees, vertical field of view.
    sensor_vfov: float
    #: Degrees, WGS-84.
    latitude: NotRequired[float]
    #: Degrees, WGS-84.
    longitude: NotRequired[float]
    #: Metres per second.
    speed: NotRequired[float]
    #: Degrees from the horizon, negative is down.
    camera_pitch: NotRequired[float]
    #: Degrees from true north, clockwise.
    camera_yaw: NotRequired[float]
    #: Degrees, clockwise along the viewing direction.
    camera_roll: NotRequired[float]
    #: Metres above mean sea level.
    altitude: NotRequired[float]
    #: Metres above the ground.
    rel_altitude: NotRequired[float]
    #: Degrees.
    drone_pitch: NotRequired[float]
    #: Degrees.
    drone_yaw: NotRequired[float]
    #: Degrees.
    drone_roll: NotRequired[float]


class TelemetryCfgParameters4(TypedDict):
    #: The port that the drone sends to: one of those that the operator offers (`telemetry.udp_port_first` to `udp_port_last`), and not that of another key.
    port: int
    #: IP address that the messages come from. Messages of other senders are ignored.
    sender: str
    #: The vehicle whose messages are used. Default: the first one that sends its position.
    system_id: NotRequired[int]
    #: Passphrase of signed messages (MAVLink 2), 1 to 255 characters: others are ignored. Shown as `***`; send `***` to keep the stored one.
    password: NotRequired[str]
    #: Degrees, horizontal field of view.
    sensor_hfov: NotRequired[float]
    #: Degrees, vertical field of view.
    sensor_vfov: NotRequired[float]


class TelemetryCfgParameters5(TypedDict):
    #: Height of mean sea level above the WGS-84 ellipsoid in metres, which is subtracted from the height above the ellipsoid that the drone reports. `auto`: by EGM96 at its position. Default: 0 for `vendor_a`, `auto` for `misb_0601`.
    geoid_separation_m: NotRequired[float | Literal["auto"]]


class TelemetryCfg(TypedDict):
    r"""`mqtt` (3.1.1 or 5, without TLS) requires the parameters `ip`, `port` and `topic`; `websocket` requires none; the parameters of `static` are the telemetry itself, in the format `native`; `udp` requires the parameters `port` and `sender`, and has the format `mavlink`; `embedded` is metadata in the stream itself (KLV, `misb_0601`)."""
    #: The channel by which telemetry is received.
    type: Literal["mqtt", "websocket", "static", "udp", "embedded"]
    #: Format of the messages. Default: `mavlink` for `udp`, `misb_0601` for `embedded`, else `native`.
    format: NotRequired[Literal["native"] | Literal["mavlink"] | Literal["misb_0601"] | Literal["native", "vendor_a"]]
    parameters: NotRequired[TelemetryCfgParameters | TelemetryCfgParameters2 | None | TelemetryCfgParameters3 | TelemetryCfgParameters4 | TelemetryCfgParameters5 | None]


class TelemetryEventTelemetry(TypedDict):
    #: `connecting`: the broker is unreachable; `waiting`: no message received yet; `stale`: the last message is too old to be used.
    state: Literal["connecting", "waiting", "receiving", "stale", "static"]
    #: Time since the last message was received.
    age_ms: float | None
    #: Why there is no usable telemetry, or level ground is assumed although there is terrain data: what is missing, and what to do.
    detail: str | None
    #: `reduced`: angles and estimated distances, no coordinates.
    geolocation: Literal["full", "reduced", "none"]
    #: Added to the timestamps of messages to get video time; configured or estimated.
    offset_ms: float | None
    #: All received messages, used or not.
    messages_received: int
    #: Messages that could not be read.
    messages_refused: int


class TelemetryEvent(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: UTC, ISO 8601 with milliseconds.
    timestamp: str
    telemetry: TelemetryEventTelemetry
    #: Number of events lost before this one because the client reads too slowly.
    dropped: NotRequired[int]


class TelemetryMessage(TypedDict):
    r"""With the fields of view alone, detections get angles and a distance; with all fields except drone_* and speed, also coordinates."""
    #: Unix time in seconds; a value above 1e11 is read as milliseconds.
    timestamp: float
    #: Degrees, WGS-84.
    latitude: NotRequired[float]
    #: Degrees, WGS-84.
    longitude: NotRequired[float]
    #: Metres per second.
    speed: NotRequired[float]
    #: Degrees, horizontal field of view.
    sensor_hfov: float
    #: Degrees, vertical field of view.
    sensor_vfov: float
    #: Degrees from the horizon, negative is down.
    camera_pitch: NotRequired[float]
    #: Degrees from true north, clockwise.
    camera_yaw: NotRequired[float]
    #: Degrees, clockwise along the viewing direction.
    camera_roll: NotRequired[float]
    #: Metres above mean sea level.
    altitude: NotRequired[float]
    #: Metres above the ground.
    rel_altitude: NotRequired[float]
    #: Degrees.
    drone_pitch: NotRequired[float]
    #: Degrees.
    drone_yaw: NotRequired[float]
    #: Degrees.
    drone_roll: NotRequired[float]


TimelineRecorded = TypedDict("TimelineRecorded", {"from": "str | float", "to": "str | float"})


TimelineProcesses = TypedDict("TimelineProcesses", {"process_uuid": "str", "from": "str | float", "to": "str | float | None", "state": "Literal[\"starting\", \"waiting\", \"running\", \"paused\", \"stopping\", \"finished\", \"failed\"]"})


TimelineActivity = TypedDict("TimelineActivity", {"class_name": "str", "from": "str | float", "to": "str | float", "tracks": "int"})


TimelineTracks = TypedDict("TimelineTracks", {"process_uuid": "str", "track_id": "int", "class_name": "str", "from": "str | float", "to": "str | float"})


class TimelineNotices(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    alert_uuid: str
    #: Of the alert.
    alias: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Of a stream: UTC, ISO 8601 with milliseconds. Of a file source: seconds from the start of the video.
    at: str | float
    event: Literal["triggered"] | Literal["updated"] | Literal["cleared"]
    classes: list[str]
    reviewed: bool


Timeline = TypedDict("Timeline", {"source_uuid": "str", "from": "str | float", "to": "str | float", "recorded": "list[TimelineRecorded]", "processes": "list[TimelineProcesses]", "resolution_seconds": "float", "activity": "list[TimelineActivity]", "tracks": "list[TimelineTracks]", "notices": "list[TimelineNotices]", "truncated": "list[Literal[\"recorded\", \"processes\", \"activity\", \"tracks\", \"notices\"]]"})


class TrackCollectionFeaturesGeometry(TypedDict):
    type: Literal["Point"]
    #: Longitude and latitude in degrees (WGS-84), and altitude in metres above mean sea level.
    coordinates: list[float]


class TrackCollectionFeaturesGeometry2(TypedDict):
    type: Literal["LineString"]
    coordinates: list[list[float]]


class TrackCollectionFeaturesGeometry3(TypedDict):
    type: Literal["MultiLineString"]
    coordinates: list[list[list[float]]]


class TrackCollectionFeaturesProperties(TypedDict):
    track_id: int
    class_id: int
    class_name: str
    #: UTC, ISO 8601 with milliseconds.
    first_seen: str
    #: UTC, ISO 8601 with milliseconds.
    last_seen: str
    #: It was visible at the time of the request.
    is_live: bool
    #: Frames in which it was detected.
    sightings: int
    max_confidence: float
    mean_confidence: float
    min_confidence: float
    #: The last one: [x, y, width, height] in the original resolution.
    bbox_pixels: list[float]
    speed_mps: float | None
    heading: float | None
    position_error_m: float | None
    #: One time per position, in arrays with the structure of `coordinates`.
    times: Any


class TrackCollectionFeatures(TypedDict):
    type: Literal["Feature"]
    id: int
    geometry: TrackCollectionFeaturesGeometry | TrackCollectionFeaturesGeometry2 | TrackCollectionFeaturesGeometry3 | None
    properties: TrackCollectionFeaturesProperties


class TrackCollection(TypedDict):
    type: Literal["FeatureCollection"]
    #: Name of the process's source.
    name: str
    process_uuid: str
    features: list[TrackCollectionFeatures]


class TrackEntry(TypedDict):
    #: Constant for an object; 0 without tracking.
    track_id: int
    class_id: int
    class_name: str
    #: [x, y, width, height] in pixels of the original input resolution, to a hundredth.
    bbox: list[float]
    #: [x, y, width, height] as fractions of the input resolution per axis, to a millionth.
    scaled_bbox: list[float]
    #: Percent, to a hundredth.
    confidence: float
    #: Degrees, WGS-84.
    latitude: NotRequired[float]
    #: Degrees, WGS-84.
    longitude: NotRequired[float]
    #: Altitude of the object in metres above mean sea level.
    altitude: NotRequired[float]
    #: Metres from the camera to the object.
    distance: NotRequired[float]
    #: Degrees from the line of sight, positive to the right.
    azimuth: NotRequired[float]
    #: Degrees from the line of sight, positive above it.
    elevation: NotRequired[float]
    #: Extension: the distance is estimated from the typical size of the object's class.
    distance_estimated: NotRequired[Literal[True]]
    #: Extension: one standard deviation of the position on the ground, in metres.
    position_error_m: NotRequired[float]
    #: Extension: smoothed ground speed in metres per second.
    speed_mps: NotRequired[float]
    #: Extension: direction of motion, degrees from true north, clockwise.
    heading: NotRequired[float]
    #: Extension: values that the graph computes for the object, by name; null if unknown.
    values: NotRequired[dict[str, bool | float | str | None]]


class TrackReport(TypedDict):
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: POSIX time in seconds, with milliseconds.
    report_time: float
    #: The window covered. For an ended process: how long it ran, rounded up, unless the request narrowed it.
    time_window_minutes: int
    #: The tracks in the window, by id.
    tracks: list[ReportTrack]
    #: There are more tracks: send this as `cursor` to get the next page.
    next_cursor: NotRequired[str]


class TrackedProcess(TypedDict):
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    process_uuid: str
    #: Lower case; upper case is accepted.
    source_uuid: str
    alias: str | None
    started_at: str | None
    finished_at: str | None
    track_count: int
    enhancement: Literal["RUNNING", "FINISHED", "FAILED"] | None
    video_url: str | None


class UsedKey(TypedDict):
    r"""Extension: the key that was sent."""
    #: Lower case; upper case is accepted.
    uuid: str
    #: Lower case; upper case is accepted.
    key_uuid: str
    name: str
    #: `read`: see everything and play video. `publish`: publish streams and send telemetry. `operate`: `read` and `publish`, and change sources, processes, outputs, alerts and graphs. `admin`: all of it, and manage keys and accounts.
    scopes: list[Literal["read", "publish", "operate", "admin"]]
    #: The key sees and uses only these sources, and what belongs to them. Null: all sources of the account.
    source_uuids: list[str] | None
    #: Who signed in to the console: then this is the session. Null: a key.
    person: str | None
    expires_at: str | None


class UserInformationPublishUrls(TypedDict):
    r"""Extension: where your streams are published on this service. Append a path of your choice, register the URL with `POST /stream`, and publish to it. With TLS, also `rtsps` and `rtmps`."""
    rtsp: str
    rtmp: str
    srt: str
    rtsps: NotRequired[str]
    rtmps: NotRequired[str]


class UserInformation(TypedDict):
    #: Version of the API.
    version: str
    #: Version of Windhover.
    software_version: str
    username: str
    product: str
    uploaded_video_storage: VideoStorage
    subscription: Subscription
    #: One entry per child key; omitted if there are none.
    children_subscription: NotRequired[list[ChildSubscription]]
    #: Whether track reports are available.
    is_track_logger_enabled: bool
    #: Extension: whether track reports can be enhanced.
    is_enhancement_enabled: bool
    #: Extension: where your streams are published on this service. Append a path of your choice, register the URL with `POST /stream`, and publish to it. With TLS, also `rtsps` and `rtmps`.
    publish_urls: UserInformationPublishUrls
    key: UsedKey


class VideoStorage(TypedDict):
    max_video_upload_size_bytes: int
    total_storage_size_bytes: int


class WebhookAlertOutput(TypedDict):
    #: `http://` or `https://` URL of at most 2048 characters. Receives every notification as a POST request.
    url: str
    #: Signing secret (Standard Webhooks): `whsec_` and base64. Generated if omitted. Returned once, in the response to the request that set or generated it. Send `***` to keep the stored secret.
    secret: NotRequired[str]
    template: NotRequired[WebhookTemplate]


WebhookDetection = TypedDict("WebhookDetection", {"topLeftX": "float", "topLeftY": "float", "height": "float", "width": "float", "id": "int", "class": "int"})


class WebhookEventOutput(TypedDict):
    #: `http://` or `https://` URL of at most 2048 characters. Receives every notification as a POST request.
    url: str
    #: Signing secret (Standard Webhooks): `whsec_` and base64. Generated if omitted. Returned once, in the response to the request that set or generated it. Send `***` to keep the stored secret.
    secret: NotRequired[str]


class WebhookTemplate(TypedDict):
    #: The body of the request. `{{ name }}` stands for a value of the notification, and `{{ name | default: "text" }}` for the text where it has none: `alert.alias`, `event`, `timestamp`, `tracks.length`, `tracks.0.class_name`, `tracks.0.values.NAME`, `data.count`, `snapshot_url` and all its other fields. In JSON, values are escaped within strings, and written as JSON elsewhere.
    body: str
    content_type: NotRequired[Literal["application/json", "text/plain"]]
    #: Further headers: `Authorization`, `X-Api-Key` and others that services of this kind use. Responses show secret ones as `***`; send `***` to keep the stored value.
    headers: NotRequired[dict[str, str]]



class Operations:
    def __init__(self, send: Callable[[Route, dict[str, Any], float | None], Any]) -> None:
        self._send = send

    def get_status(
        self,
        *,
        timeout: float | None = None,
    ) -> Status:
        r"""Get the status of the service. Needs no key. With a valid key it includes the status of each component."""
        return self._send(Route("GET", "/status"), {}, timeout)  # type: ignore[no-any-return]

    def login(
        self,
        *,
        timeout: float | None = None,
    ) -> Login:
        r"""Validate an API key. On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent."""
        return self._send(Route("GET", "/login"), {}, timeout)  # type: ignore[no-any-return]

    def login_by_post(
        self,
        *,
        timeout: float | None = None,
    ) -> Login:
        r"""Validate an API key. On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent."""
        return self._send(Route("POST", "/login"), {}, timeout)  # type: ignore[no-any-return]

    def get_user_info(
        self,
        *,
        timeout: float | None = None,
    ) -> UserInformation:
        r"""Get the limits, features and remaining minutes of a key."""
        return self._send(Route("GET", "/user_info"), {}, timeout)  # type: ignore[no-any-return]

    def get_info(
        self,
        *,
        timeout: float | None = None,
    ) -> OldInformation:
        r"""Get the remaining minutes of a key, in the format used before `GET /user_info`. Deprecated."""
        return self._send(Route("GET", "/info"), {}, timeout)  # type: ignore[no-any-return]

    def allocate_minutes(
        self,
        *,
        body: Allocation,
        timeout: float | None = None,
    ) -> Allocated:
        r"""Allocate pending minutes of a master key to itself or to one of its child keys. All or nothing. Concurrent calls never allocate more than is pending. A key without a limit cannot receive minutes, since they would be lost: 409 `minutes_unlimited`."""
        return self._send(Route("POST", "/subscription/allocate", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def list_keys(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        username: str | None = None,
        state: Literal["current", "all"] | None = None,
        timeout: float | None = None,
    ) -> ListKeysAnswer:
        r"""List the keys of your account and, for a master key, of its children. Without revoked keys, unless `state` is `all`. The keys themselves are not stored."""
        return self._send(Route("GET", "/keys", query=("limit", "cursor", "username", "state",)), {"limit": limit, "cursor": cursor, "username": username, "state": state}, timeout)  # type: ignore[no-any-return]

    def create_key(
        self,
        *,
        body: CreateKeyBody,
        timeout: float | None = None,
    ) -> CreatedKey:
        r"""Create a key. For your account or, with a master key, for one of its children. It cannot have more scopes, other sources or a later expiry than the key of the request. The key is shown only in this answer."""
        return self._send(Route("POST", "/key", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def read_key(
        self,
        key_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Key:
        r"""Get a key, without its secret."""
        return self._send(Route("GET", "/key/{key_uuid}"), {"key_uuid": key_uuid}, timeout)  # type: ignore[no-any-return]

    def change_key(
        self,
        key_uuid: str,
        *,
        body: ChangeKeyBody,
        timeout: float | None = None,
    ) -> Key:
        r"""Change the name or the expiry of a key. An omitted field keeps its value. Scopes and sources cannot be changed: create another key."""
        return self._send(Route("PATCH", "/key/{key_uuid}", body_type="application/json"), {"key_uuid": key_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def revoke_key(
        self,
        key_uuid: str,
        *,
        timeout: float | None = None,
    ) -> RevokeKeyAnswer:
        r"""Revoke a key. Requests with it are rejected at once, by other nodes within a second; its websockets, streams and publishers end within seconds. Processes that it has started continue."""
        return self._send(Route("DELETE", "/key/{key_uuid}"), {"key_uuid": key_uuid}, timeout)  # type: ignore[no-any-return]

    def rotate_key(
        self,
        key_uuid: str,
        *,
        body: RotateKeyBody | None = None,
        timeout: float | None = None,
    ) -> CreatedKey:
        r"""Replace a key by a new one with the same rights. The old key stays valid for `overlap_seconds`, so that clients can change over; then its open streams end. The new key is shown only in this answer."""
        return self._send(Route("POST", "/key/{key_uuid}/rotate", body_type="application/json"), {"key_uuid": key_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def list_accounts(
        self,
        *,
        timeout: float | None = None,
    ) -> ListAccountsAnswer:
        r"""List your account and its children, with limits and features."""
        return self._send(Route("GET", "/accounts"), {}, timeout)  # type: ignore[no-any-return]

    def change_account(
        self,
        username: str,
        *,
        body: ChangeAccountBody,
        timeout: float | None = None,
    ) -> Account:
        r"""Change limits and features of a child account. A master gives its children at most what it has itself. Your own account can be changed with an operator key. An omitted field keeps its value."""
        return self._send(Route("PATCH", "/account/{username}", body_type="application/json"), {"username": username, "body": body}, timeout)  # type: ignore[no-any-return]

    def read_sign_in_options(
        self,
        *,
        timeout: float | None = None,
    ) -> SignInOptions:
        r"""Ways to sign in to the console."""
        return self._send(Route("GET", "/sign_in"), {}, timeout)  # type: ignore[no-any-return]

    def begin_sign_in(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Sign in through the identity provider: for browsers. Redirects to the provider, which redirects back to `/sign_in/oidc/callback`."""
        return self._send(Route("GET", "/sign_in/oidc"), {}, timeout)  # type: ignore[no-any-return]

    def finish_sign_in(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The way back from the identity provider: for browsers. Sets the cookie of the session: not readable by scripts, only sent by pages of this service, valid for `oidc.session_seconds`. Parameters are those of OpenID Connect."""
        return self._send(Route("GET", "/sign_in/oidc/callback"), {}, timeout)  # type: ignore[no-any-return]

    def sign_out(
        self,
        *,
        timeout: float | None = None,
    ) -> SignedOut:
        r"""End the session of the console. Its cookie is deleted, and the session ends everywhere. An API key stays valid."""
        return self._send(Route("POST", "/sign_out"), {}, timeout)  # type: ignore[no-any-return]

    def upload_video(
        self,
        *,
        body: Form,
        timeout: float | None = None,
    ) -> Source:
        r"""Upload a video file. A form with the file (mp4, mov, avi, ts, mkv or webm) in the part `file`, an optional `alias` (default: the file name) and an optional `loop`. A part with another name is accepted if it contains the only file. A part `telemetry` may contain the telemetry of the flight; `telemetry_format`, `telemetry_offset_seconds` and `telemetry_parameters` are the fields of `POST /source/{source_id}/telemetry`. KLV metadata (MISB ST 0601) of a ts file is found in it. With `loop=true`, a process plays the file as a live source: it never finishes by itself, and after a restart it begins at the start of the file. If you already have a source with the same bytes and the same `loop`, that source is returned and nothing is stored."""
        return self._send(Route("POST", "/video", body_type="multipart/form-data"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def register_stream(
        self,
        *,
        body: NewStream,
        timeout: float | None = None,
    ) -> Source:
        r"""Register a live stream. If you already have a source with the same URL and telemetry, that source is returned. A URL of this service's media server (`publish_urls` of `GET /user_info`, with a path behind it: `rtmp://{host}:1935/<username>/<path>`, `rtsp://{host}:8554/<username>/<path>` or `srt://{host}:8890/<username>/<path>`) makes it a media-server source: publish your stream to that URL, with your API key as the password or as `?api_key=`; by SRT with the stream id `#!::r=<username>/<path>,u=<key>,m=publish`. The event `stream-began` says when it can be played, `stream-rejected` why not."""
        return self._send(Route("POST", "/stream", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def list_sources(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: Literal["file", "stream"] | None = None,
        stream_type: Literal["rtsp", "rtmp", "srt", "udp"] | None = None,
        alias: str | None = None,
        status: Literal["unknown", "offline", "streaming", "processing"] | None = None,
        timeout: float | None = None,
    ) -> ListSourcesAnswer:
        r"""List your sources."""
        return self._send(Route("GET", "/sources", query=("limit", "cursor", "sort", "type", "stream_type", "alias", "status",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "stream_type": stream_type, "alias": alias, "status": status}, timeout)  # type: ignore[no-any-return]

    def read_source(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> SourceDetails:
        r"""Get a source."""
        return self._send(Route("GET", "/source/{source_id}"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    def change_source(
        self,
        source_id: str,
        *,
        body: SourceChange,
        timeout: float | None = None,
    ) -> Source:
        r"""Change the alias or the telemetry of a source."""
        return self._send(Route("PATCH", "/source/{source_id}", body_type="application/json"), {"source_id": source_id, "body": body}, timeout)  # type: ignore[no-any-return]

    def delete_source(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> DeleteSourceAnswer:
        r"""Delete a source that no process uses, and its file."""
        return self._send(Route("DELETE", "/source/{source_id}"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    def upload_telemetry(
        self,
        source_id: str,
        *,
        body: Form,
        timeout: float | None = None,
    ) -> SourceTelemetry:
        r"""Upload the telemetry of a video. A form with a telemetry file in the part `file`: subtitles of a DJI drone (`dji_srt`), a flight log as CSV (`flight_csv`), a MAVLink `.tlog` (`mavlink`), or one message per line (`native`, `vendor_a`). It replaces what the source had, and is used by processes that start afterwards, unless the source has a `telemetry_cfg`. Its times are aligned to the video as `offset_method` of the answer says."""
        return self._send(Route("POST", "/source/{source_id}/telemetry", body_type="multipart/form-data"), {"source_id": source_id, "body": body}, timeout)  # type: ignore[no-any-return]

    def read_telemetry(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> SourceTelemetry:
        r"""Get the recorded telemetry of a video."""
        return self._send(Route("GET", "/source/{source_id}/telemetry"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    def delete_telemetry(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> DeleteTelemetryAnswer:
        r"""Delete the recorded telemetry of a video."""
        return self._send(Route("DELETE", "/source/{source_id}/telemetry"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    def calibrate_source(
        self,
        source_uuid: str,
        *,
        body: NewCalibration,
        timeout: float | None = None,
    ) -> Calibration:
        r"""Calibrate the heading of a source with landmarks. A process must run on the source, with telemetry that has position and attitude. A landmark is a point of the picture whose coordinates you know; one is enough, and several in different frames reduce the error. Choose landmarks that are far away: 1 m is 0.6 degrees at 100 m. The offset between the bearing of the landmarks and that of their picture is stored with the source, replaces the one before, and is added to the heading of all its processes from now on. Positions that were computed before do not change."""
        return self._send(Route("POST", "/source/{source_uuid}/calibration", body_type="application/json"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def read_calibration(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Calibration:
        r"""Get the calibration of the heading of a source."""
        return self._send(Route("GET", "/source/{source_uuid}/calibration"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    def delete_calibration(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteCalibrationAnswer:
        r"""Use the heading of a source as its telemetry reports it."""
        return self._send(Route("DELETE", "/source/{source_uuid}/calibration"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    def list_recordings(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["started_at", "-started_at", "alias", "-alias"] | None = None,
        source_uuid: str | None = None,
        alias: str | None = None,
        since: str | None = None,
        until: str | None = None,
        timeout: float | None = None,
    ) -> ListRecordingsAnswer:
        r"""List the recordings of your media-server sources. A recording starts when a stream is published, or a process pulls a camera that is to be recorded, and ends with it; until then `stopped_at` is null. Recordings are kept for their retention time, also when their source is deleted."""
        return self._send(Route("GET", "/sources/recordings", query=("limit", "cursor", "sort", "source_uuid", "alias", "since", "until",)), {"limit": limit, "cursor": cursor, "sort": sort, "source_uuid": source_uuid, "alias": alias, "since": since, "until": until}, timeout)  # type: ignore[no-any-return]

    def read_recording_setting(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> RecordingSetting:
        r"""Get how a source is recorded."""
        return self._send(Route("GET", "/source/{source_uuid}/recording"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    def change_recording_setting(
        self,
        source_uuid: str,
        *,
        body: RecordingChange,
        timeout: float | None = None,
    ) -> RecordingSetting:
        r"""Change how a source is recorded: start or stop recording now. For streams that are published to the service, and for cameras while a process pulls them (default: `off`). `always` starts to record a live stream now, with the seconds before (`pre_roll_seconds`, as far as they were kept: set them while it is not recorded). `off` ends the recording. `on_alert` records `recordings.on_alert_seconds` from each notice of an alert on this source. Omitted fields keep their values. Takes effect within some seconds."""
        return self._send(Route("PATCH", "/source/{source_uuid}/recording", body_type="application/json"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def download_clip(
        self,
        source_uuid: str,
        *,
        from_: str,
        to: str,
        boxes: bool | None = None,
        process_uuid: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download a clip of a recorded stream or of a file: MP4. Cut out of the recordings of a media-server source, or out of an uploaded video, without encoding again. The first frame is the one on display at `from`, the last one the last before `to`. Of a recording, one second of the clip is one second of real time: where it has a gap, the last frame before it stays. `Windhover-Clip` is the time range of the frames, `Windhover-Gaps` lists the parts of the requested range without video, both as `from/to`. The clip has the codec of the video. With `boxes=true`, and of a video that is not H.264 or H.265 in MP4 or QuickTime, the clip is rendered, up to 10 seconds of it, and kept as one of `GET /clips`; the same request sends it again. `POST /clips` renders longer ones."""
        return self._send(Route("GET", "/source/{source_uuid}/clip", query=("from", "to", "boxes", "process_uuid",)), {"source_uuid": source_uuid, "from": from_, "to": to, "boxes": boxes, "process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def download_video(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download an uploaded video. The file as it was uploaded, also an MPEG-TS with its KLV metadata. The whole file, or the part selected by `Range`."""
        return self._send(Route("GET", "/source/{source_uuid}/file"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    def download_thumbnail(
        self,
        source_uuid: str,
        *,
        at: str,
        width: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get the picture of a source at a time: JPEG. The frame on display at that time, from the recordings of a media-server source or from the video of a file, for time lines and lists. Ask for one that is not needed any longer by closing the request."""
        return self._send(Route("GET", "/source/{source_uuid}/thumbnail", query=("at", "width",)), {"source_uuid": source_uuid, "at": at, "width": width}, timeout)  # type: ignore[no-any-return]

    def render_clip(
        self,
        *,
        body: NewClip,
        timeout: float | None = None,
    ) -> Clip:
        r"""Render a clip of a source, with or without boxes: MP4. The clip is encoded as H.264, without sound, by a job: `GET /clip/{clip_uuid}` shows its progress and, when it is ready, a signed URL; the event `clip-ready` or `clip-failed` (`GET /events`) says when. Works for all sources: recorded streams and files of every codec. Boxes, labels and trails are those of the stored detections, drawn as on the processed video. Clips are kept for `evidence.retention_days` or until deleted, and count in the storage of recordings of the key."""
        return self._send(Route("POST", "/clips", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def list_clips(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at"] | None = None,
        source_uuid: str | None = None,
        state: Literal["queued", "rendering", "ready", "failed"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> ListClipsAnswer:
        r"""List your rendered clips."""
        return self._send(Route("GET", "/clips", query=("limit", "cursor", "sort", "source_uuid", "state", "from", "to",)), {"limit": limit, "cursor": cursor, "sort": sort, "source_uuid": source_uuid, "state": state, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def read_clip(
        self,
        clip_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Clip:
        r"""Get a rendered clip: its state and progress."""
        return self._send(Route("GET", "/clip/{clip_uuid}"), {"clip_uuid": clip_uuid}, timeout)  # type: ignore[no-any-return]

    def delete_clip(
        self,
        clip_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteClipAnswer:
        r"""Cancel or delete a rendered clip."""
        return self._send(Route("DELETE", "/clip/{clip_uuid}"), {"clip_uuid": clip_uuid}, timeout)  # type: ignore[no-any-return]

    def download_rendered_clip(
        self,
        clip_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download a rendered clip: MP4. The whole file, or the part selected by `Range`. `download_url` of the record is this URL, signed."""
        return self._send(Route("GET", "/clip/{clip_uuid}/file"), {"clip_uuid": clip_uuid}, timeout)  # type: ignore[no-any-return]

    def read_timeline(
        self,
        source_uuid: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Timeline:
        r"""Get what happened on a source: recorded times, processes, tracks and notices of alerts. For a time line, of a week at most. Its size is bounded: `activity` merges tracks to what a screen can show, and `tracks` lists them for shorter ranges. Times of a stream are those of its frames. A file source is analysed anew by each process: its times are seconds from the start of the video, and the results of all processes are on the same time line. A file that is played as a live source (`loop`) has times of day and no recorded ranges."""
        return self._send(Route("GET", "/source/{source_uuid}/timeline", query=("from", "to",)), {"source_uuid": source_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def start_process(
        self,
        *,
        source_uuid: str | None = None,
        recording_uuid: str | None = None,
        index: int | None = None,
        graph: str | None = None,
        body: StartProcess | None = None,
        timeout: float | None = None,
    ) -> StartedProcess:
        r"""Start a process on a source. Answers when the first frame of the source has been decoded. If no frame arrives within `runners.start_seconds` of the service (5 seconds by default) it answers 400; if this machine is too busy to start the process now, 503 with `Retry-After`. Where several nodes form one service, the process starts on one that has room; if none has, 503 `capacity_exhausted`. A start that fails, or whose client disconnects before the answer, leaves no process. With `wait`, it answers at once, and the process waits for its source: it counts towards the process limit, uses no minutes and no runner, and keeps what is attached to it; see the state `waiting`. With `recording_uuid`, recorded video is copied within the service and registered as a video (a second start uses the same one); it counts towards the limits of uploads, and is kept when the recording is removed."""
        return self._send(Route("POST", "/start", query=("source_uuid", "recording_uuid", "index", "graph",), body_type="application/json"), {"source_uuid": source_uuid, "recording_uuid": recording_uuid, "index": index, "graph": graph, "body": body}, timeout)  # type: ignore[no-any-return]

    def list_processes(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "finished_at", "-finished_at"] | None = None,
        state: Literal["active", "all", "starting", "waiting", "running", "paused", "stopping", "finished", "failed"] | None = None,
        source_uuid: str | None = None,
        graph: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> ListProcessesAnswer:
        r"""List your processes. Active processes, unless `state` says otherwise."""
        return self._send(Route("GET", "/processes", query=("limit", "cursor", "sort", "state", "source_uuid", "graph", "from", "to",)), {"limit": limit, "cursor": cursor, "sort": sort, "state": state, "source_uuid": source_uuid, "graph": graph, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def stop_processes(
        self,
        *,
        timeout: float | None = None,
    ) -> StoppedProcesses:
        r"""Stop all your processes. Answers when all of them have stopped."""
        return self._send(Route("DELETE", "/processes"), {}, timeout)  # type: ignore[no-any-return]

    def read_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Process:
        r"""Get a process."""
        return self._send(Route("GET", "/process/{process_uuid}"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def stop_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StopProcessAnswer:
        r"""Stop a process. Answers when the process has stopped; at once for one that has already ended. A process on another machine is stopped there."""
        return self._send(Route("DELETE", "/process/{process_uuid}"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def pause_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Process:
        r"""Pause a process. Sockets and outputs stay open, but no data flows. Paused time uses no minutes; the process still counts towards the process limit."""
        return self._send(Route("POST", "/process/{process_uuid}/pause"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def resume_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Process:
        r"""Resume a paused process. A file continues where it was paused, a live source with its current frame."""
        return self._send(Route("POST", "/process/{process_uuid}/resume"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def stop_process_old(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StopProcessOldAnswer:
        r"""Stop a process. Use `DELETE /process/{process_uuid}`. Deprecated."""
        return self._send(Route("POST", "/process/{process_uuid}/stop"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def stop_processes_old(
        self,
        *,
        timeout: float | None = None,
    ) -> StoppedProcesses:
        r"""Stop all your processes. Use `DELETE /processes`. Deprecated."""
        return self._send(Route("POST", "/process/stop_all"), {}, timeout)  # type: ignore[no-any-return]

    def get_process_urls(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> ProcessUrls:
        r"""Get URLs of the streams of a process that contain a token instead of the key. For players, pages and people that must not get the key. Each is valid until `expires_at` for streams that are opened, which then stay open; a token allows nothing else."""
        return self._send(Route("GET", "/process/{process_uuid}/urls"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def watch_feed(
        self,
        process_uuid: str,
        *,
        overlay: Literal["boxes", "none"] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Processed frames as a stream of JPEGs. Each part has the header `X-Timestamp`, the time of its frame. Frames are encoded only while there are viewers. A slow viewer misses frames; a viewer that reads nothing for 10 s is disconnected. Feed and events of one process share a limit of 1000 viewers. The stream ends with the process."""
        return self._send(Route("GET", "/process/{process_uuid}/feed", query=("overlay",)), {"process_uuid": process_uuid, "overlay": overlay}, timeout)  # type: ignore[no-any-return]

    def watch_events(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Events of a process, as server-sent events. `detections` (one frame on which inference ran), `drone` (camera position and attitude, as on `drone_data`), `camera` (its position and the ground that it sees, once per second of video), `state` (first, last and on every change), `stats` (once a second), `telemetry` (for a source with telemetry: first, and when its status changes), `alert` (a notification). Feed and events of one process share a limit of 1000 viewers. A viewer that does not keep up loses the oldest events; the next event says how many (`dropped`). Events are not sent again: `Last-Event-ID` is ignored. The stream ends with the process."""
        return self._send(Route("GET", "/process/{process_uuid}/events"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def download_process_recording(
        self,
        process_uuid: str,
        index: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download one file of the processed video of a process: fragmented MP4. For keys with process recording. A new file starts with each start of the runner, and when a file reaches the configured segment length; `recordings` of the process lists the files. They are kept for the retention time of recordings. The whole file, or the part selected by `Range`; while the process runs, what has been written so far."""
        return self._send(Route("GET", "/process/{process_uuid}/recording/{index}"), {"process_uuid": process_uuid, "index": index}, timeout)  # type: ignore[no-any-return]

    def stream_detections(
        self,
        process_uuid: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get the stored detections of a process. One message per line, as on the socket `detection_data`, oldest first; of a process that runs, what it has sent so far. Messages are stored while recording is enabled and the disk has space, and are kept for the retention time of recordings (`recordings.retention_days`). A process without stored messages in this range gets an empty answer."""
        return self._send(Route("GET", "/process/{process_uuid}/detections", query=("from", "to",)), {"process_uuid": process_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def stream_camera(
        self,
        process_uuid: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get the stored positions of the camera of a process. One message per line, as the event `camera`: about one per second of video, oldest first, with the ground that the camera saw. Stored and kept with the detections of the process. Empty for a source without telemetry."""
        return self._send(Route("GET", "/process/{process_uuid}/camera", query=("from", "to",)), {"process_uuid": process_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def read_process_recording_setting(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> ProcessRecordingSetting:
        r"""Get whether the processed video of a process is recorded."""
        return self._send(Route("GET", "/process/{process_uuid}/recording"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def change_process_recording_setting(
        self,
        process_uuid: str,
        *,
        body: ProcessRecordingChange,
        timeout: float | None = None,
    ) -> ProcessRecordingSetting:
        r"""Start or stop recording the processed video of a process. For keys with process recording. `on_alert` records `recordings.on_alert_seconds` from each notice of the process on. Takes effect within some seconds, and holds after restarts."""
        return self._send(Route("PATCH", "/process/{process_uuid}/recording", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def attach_output(
        self,
        process_uuid: str,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Output:
        r"""Attach an output to a process. An output is attached to one active process at a time. Attaching it to the same process again changes nothing."""
        return self._send(Route("POST", "/process/{process_uuid}/{output_uuid}"), {"process_uuid": process_uuid, "output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    def detach_output(
        self,
        process_uuid: str,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DetachOutputAnswer:
        r"""Detach an output from a process. The output stays registered."""
        return self._send(Route("DELETE", "/process/{process_uuid}/{output_uuid}"), {"process_uuid": process_uuid, "output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    def read_detection_data(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Websocket: one message for every frame on which inference ran. A client that does not keep up loses the oldest messages; the next message says how many (`dropped`). One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`."""
        return self._send(Route("GET", "/process/{process_uuid}/detection_data"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def read_drone_data(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Websocket: telemetry messages as received. In the native fields, independent of the format of the source. For a source with static telemetry its only message is sent on connection. A client that does not keep up loses the oldest messages; the next message says how many (`dropped`). One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`."""
        return self._send(Route("GET", "/process/{process_uuid}/drone_data"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def register_output(
        self,
        *,
        body: NewOutput,
        timeout: float | None = None,
    ) -> Output:
        r"""Register an output. If you already have an output with the same type, URL and settings, that output is returned."""
        return self._send(Route("POST", "/output", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def list_outputs(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: Literal["rtsp", "rtmp", "srt", "detection_data", "drone_data", "cot", "mqtt", "mpegts"] | None = None,
        alias: str | None = None,
        process_uuid: str | None = None,
        timeout: float | None = None,
    ) -> ListOutputsAnswer:
        r"""List your outputs."""
        return self._send(Route("GET", "/outputs", query=("limit", "cursor", "sort", "type", "alias", "process_uuid",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "alias": alias, "process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def read_output(
        self,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Output:
        r"""Get an output."""
        return self._send(Route("GET", "/output/{output_uuid}"), {"output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    def change_output(
        self,
        output_uuid: str,
        *,
        body: OutputChange,
        timeout: float | None = None,
    ) -> Output:
        r"""Change the alias, URL or video settings of an output. Omitted fields keep their values. While the output is attached to a process, only its alias can be changed."""
        return self._send(Route("PATCH", "/output/{output_uuid}", body_type="application/json"), {"output_uuid": output_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def delete_output(
        self,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteOutputAnswer:
        r"""Delete an output that is not attached."""
        return self._send(Route("DELETE", "/output/{output_uuid}"), {"output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    def send_telemetry(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Websocket: camera position and attitude, sent by the client. Each text frame is one JSON telemetry message, native or in the format of the source. If the telemetry channel of the source is not `websocket`, the upgrade is rejected with 409 and the reason. An invalid message is answered with `{"error": {…}}` and has no effect; a valid message is not answered. One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`."""
        return self._send(Route("GET", "/process/{process_uuid}/telemetry"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def read_source_stats(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StreamStats:
        r"""Statistics of the live stream of a media-server source. Frames, readers, and the quality of the connection to the publisher. Measured once per second."""
        return self._send(Route("GET", "/source/{source_uuid}/stream"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    def read_source_hls(
        self,
        source_uuid: str,
        file: str,
        *,
        _HLS_msn: int | None = None,
        _HLS_skip: str | None = None,
        _HLS_part: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play a media-server source by low-latency HLS. Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token."""
        return self._send(Route("GET", "/source/{source_uuid}/hls/{file}", query=("_HLS_msn", "_HLS_skip", "_HLS_part",)), {"source_uuid": source_uuid, "file": file, "_HLS_msn": _HLS_msn, "_HLS_skip": _HLS_skip, "_HLS_part": _HLS_part}, timeout)  # type: ignore[no-any-return]

    def watch_source(
        self,
        source_uuid: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play a media-server source by WebRTC (WHEP). The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL."""
        return self._send(Route("POST", "/source/{source_uuid}/whep", body_type="application/sdp"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def leave_source(
        self,
        source_uuid: str,
        session: str,
        *,
        timeout: float | None = None,
    ) -> LeaveSourceAnswer:
        r"""End a session that was started with POST /source/{source_uuid}/whep."""
        return self._send(Route("DELETE", "/source/{source_uuid}/whep/{session}"), {"source_uuid": source_uuid, "session": session}, timeout)  # type: ignore[no-any-return]

    def read_output_stats(
        self,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StreamStats:
        r"""Statistics of the live stream of an rtsp output. Frames, readers, and the quality of the connection to the publisher. Measured once per second."""
        return self._send(Route("GET", "/output/{output_uuid}/stream"), {"output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    def read_output_hls(
        self,
        output_uuid: str,
        file: str,
        *,
        _HLS_msn: int | None = None,
        _HLS_skip: str | None = None,
        _HLS_part: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play an rtsp output by low-latency HLS. Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token."""
        return self._send(Route("GET", "/output/{output_uuid}/hls/{file}", query=("_HLS_msn", "_HLS_skip", "_HLS_part",)), {"output_uuid": output_uuid, "file": file, "_HLS_msn": _HLS_msn, "_HLS_skip": _HLS_skip, "_HLS_part": _HLS_part}, timeout)  # type: ignore[no-any-return]

    def watch_output(
        self,
        output_uuid: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play an rtsp output by WebRTC (WHEP). The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL."""
        return self._send(Route("POST", "/output/{output_uuid}/whep", body_type="application/sdp"), {"output_uuid": output_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def leave_output(
        self,
        output_uuid: str,
        session: str,
        *,
        timeout: float | None = None,
    ) -> LeaveOutputAnswer:
        r"""End a session that was started with POST /output/{output_uuid}/whep."""
        return self._send(Route("DELETE", "/output/{output_uuid}/whep/{session}"), {"output_uuid": output_uuid, "session": session}, timeout)  # type: ignore[no-any-return]

    def publish_source(
        self,
        source_uuid: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> Answer:
        r"""Publish a media-server source by WebRTC (WHIP). The body is the publisher's SDP offer with H.264 video, the answer is the media server's SDP answer. Audio is not published. DELETE the URL in `Location` to end the stream. Send the key as `Authorization: Bearer`, as WHIP clients do, or in the header `api_key`."""
        return self._send(Route("POST", "/source/{source_uuid}/whip", body_type="application/sdp"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def unpublish_source(
        self,
        source_uuid: str,
        session: str,
        *,
        timeout: float | None = None,
    ) -> UnpublishSourceAnswer:
        r"""End a stream that was started with POST /source/{source_uuid}/whip."""
        return self._send(Route("DELETE", "/source/{source_uuid}/whip/{session}"), {"source_uuid": source_uuid, "session": session}, timeout)  # type: ignore[no-any-return]

    def download_recording(
        self,
        recording_uuid: str,
        index: str,
        *,
        format: Literal["mp4", "ts"] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download one segment of a recording: fragmented MP4, or MPEG-TS. The whole file, or the part selected by `Range`. While the recording continues: what has been written so far. With `format=ts` the same video as MPEG-TS, not encoded again, with the KLV metadata of the stream as a stream of its own; it is made while it is sent, without ranges. The MP4 has the metadata as event messages (MISB ST 1910)."""
        return self._send(Route("GET", "/recording/{recording_uuid}/{index}", query=("format",)), {"recording_uuid": recording_uuid, "index": index, "format": format}, timeout)  # type: ignore[no-any-return]

    def delete_recording(
        self,
        recording_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteRecordingAnswer:
        r"""Delete a recording that has ended, and its files."""
        return self._send(Route("DELETE", "/recording/{recording_uuid}"), {"recording_uuid": recording_uuid}, timeout)  # type: ignore[no-any-return]

    def get_source_hls_page(
        self,
        source_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the media-server source by HLS. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return self._send(Route("GET", "/source/{source_uuid}/hls", query=("token", "api_key",)), {"source_uuid": source_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    def get_source_webrtc_page(
        self,
        source_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the media-server source by WebRTC. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return self._send(Route("GET", "/source/{source_uuid}/webrtc", query=("token", "api_key",)), {"source_uuid": source_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    def get_output_hls_page(
        self,
        output_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the rtsp output by HLS. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return self._send(Route("GET", "/output/{output_uuid}/hls", query=("token", "api_key",)), {"output_uuid": output_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    def get_output_webrtc_page(
        self,
        output_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the rtsp output by WebRTC. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return self._send(Route("GET", "/output/{output_uuid}/webrtc", query=("token", "api_key",)), {"output_uuid": output_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    def get_player_file(
        self,
        file: Literal["player.css"] | Literal["screen.js"] | Literal["webrtc.js"] | Literal["hls.js"] | Literal["hls-library.js"],
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""A file of the player pages."""
        return self._send(Route("GET", "/player/{file}"), {"file": file}, timeout)  # type: ignore[no-any-return]

    def read_tracks(
        self,
        process_uuid: str,
        *,
        format: Literal["json", "geojson", "kml", "csv"] | None = None,
        window_minutes: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["track_id", "-track_id"] | None = None,
        class_: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        zone: str | None = None,
        geo_zone: str | None = None,
        patches: bool | None = None,
        timeout: float | None = None,
    ) -> TrackReport | TrackCollection:
        r"""Get the track report of a process, or its tracks as GeoJSON, KML or CSV. For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`)."""
        return self._send(Route("GET", "/process/{process_uuid}/tracks", query=("format", "window_minutes", "limit", "cursor", "sort", "class", "from", "to", "zone", "geo_zone", "patches",)), {"process_uuid": process_uuid, "format": format, "window_minutes": window_minutes, "limit": limit, "cursor": cursor, "sort": sort, "class": class_, "from": from_, "to": to, "zone": zone, "geo_zone": geo_zone, "patches": patches}, timeout)  # type: ignore[no-any-return]

    def post_tracks(
        self,
        process_uuid: str,
        *,
        format: Literal["json", "geojson", "kml", "csv"] | None = None,
        window_minutes: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["track_id", "-track_id"] | None = None,
        class_: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        zone: str | None = None,
        geo_zone: str | None = None,
        patches: bool | None = None,
        timeout: float | None = None,
    ) -> TrackReport | TrackCollection:
        r"""Same as GET. For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`)."""
        return self._send(Route("POST", "/process/{process_uuid}/tracks", query=("format", "window_minutes", "limit", "cursor", "sort", "class", "from", "to", "zone", "geo_zone", "patches",)), {"process_uuid": process_uuid, "format": format, "window_minutes": window_minutes, "limit": limit, "cursor": cursor, "sort": sort, "class": class_, "from": from_, "to": to, "zone": zone, "geo_zone": geo_zone, "patches": patches}, timeout)  # type: ignore[no-any-return]

    def delete_tracks(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeletedReport:
        r"""Delete the track report of a process. Deletes the tracks with their paths and images. A process that has ended then has no report. The report of a running process continues with new detections; objects that are still visible appear in it again."""
        return self._send(Route("DELETE", "/process/{process_uuid}/tracks"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def list_tracked_processes(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "finished_at", "-finished_at"] | None = None,
        source_uuid: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> ListTrackedProcessesAnswer:
        r"""List your processes that have a track report. Processes whose key had the track logger when they started and whose report was not deleted; for keys with process recording, with the processed video. Tracks are kept for `report.retention_days`, also those of running processes."""
        return self._send(Route("GET", "/tracked_processes", query=("limit", "cursor", "sort", "source_uuid", "from", "to",)), {"limit": limit, "cursor": cursor, "sort": sort, "source_uuid": source_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def enhance_tracks(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> EnhancementStarted:
        r"""Start the enhancement of the report of a finished process. Every track gets `enhanced_data`: type, colour and licence plate of vehicles, clothing colours of people, attributes of flying objects; null where the image does not show it. While an enhancement runs, another request changes nothing; after that it starts a new one. The event `enhancement-finished` or `enhancement-failed` (`GET /events`) says when it has ended. Rejected when the running processes and enhancements of the key reach its process limit. An enhancement prevents no process from starting and uses no minutes."""
        return self._send(Route("POST", "/decorate_tracks/{process_uuid}"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def read_enhancement(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> EnhancementState:
        r"""Get the status of the enhancement. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results."""
        return self._send(Route("GET", "/decorate_tracks/{process_uuid}/status"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def ask_for_enhancement(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> EnhancementState:
        r"""Get the status of the enhancement. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results."""
        return self._send(Route("POST", "/decorate_tracks/{process_uuid}/status"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def describe_alert_type(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        timeout: float | None = None,
    ) -> AlertDescription:
        r"""Describe an alert type and its parameters. Types: `grid-density`, `flow-control`, `follow-track`, `filter-search`, `convoy`, `graph-rule`."""
        return self._send(Route("GET", "/alert_description", query=("name", "type",)), {"name": name, "type": type}, timeout)  # type: ignore[no-any-return]

    def preview_alert(
        self,
        *,
        body: AlertPreviewRequest,
        timeout: float | None = None,
    ) -> AlertPreview:
        r"""Show what the outputs of an alert would send. Renders a sample notification with the templates of these outputs, and rejects templates, headers and addresses that an alert would be rejected for. Nothing is sent or stored, and host names are not resolved; any valid URL or address will do."""
        return self._send(Route("POST", "/alert_preview", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def register_alert(
        self,
        *,
        body: NewAlert,
        timeout: float | None = None,
    ) -> Alert:
        r"""Register an alert for all processes. Applies at once to every active process whose graph can evaluate it, and to every process started later. A host name that does not resolve is rejected. A host that is offline is accepted: notifications are queued for it."""
        return self._send(Route("POST", "/alert", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def add_alert(
        self,
        uuid: str,
        *,
        body: NewAlert,
        timeout: float | None = None,
    ) -> Alert:
        r"""Add an alert to one process, by the process's uuid. The alert is deleted with its process. `GET /active/alerts` lists it, `GET /alerts` does not."""
        return self._send(Route("POST", "/alert/{uuid}", body_type="application/json"), {"uuid": uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def read_alert(
        self,
        uuid: str,
        *,
        timeout: float | None = None,
    ) -> Alert:
        r"""Get an alert, by the alert's uuid."""
        return self._send(Route("GET", "/alert/{uuid}"), {"uuid": uuid}, timeout)  # type: ignore[no-any-return]

    def change_alert(
        self,
        uuid: str,
        *,
        force: bool | None = None,
        body: AlertChange,
        timeout: float | None = None,
    ) -> Alert:
        r"""Change an alert, by the alert's uuid. Omitted fields keep their values. Each of `trigger`, `region`, `filter`, `parameters` and `output` that you send replaces the old value completely and restarts the evaluation of the alert. `status` and `alias` take effect at once. Other changes are shown as `pending` and take effect at the next start of a process; with `force` they take effect at once on every running process, without a restart and without disturbing clients, outputs or tracks. A restart after a crash of a runner or of the service does not apply them. An inactive alert runs on no process and has nothing pending. A webhook that answered 410 Gone receives nothing more until you send `output` again or reactivate the alert. `force` can be in the query or in the body; the query takes precedence."""
        return self._send(Route("PATCH", "/alert/{uuid}", query=("force",), body_type="application/json"), {"uuid": uuid, "force": force, "body": body}, timeout)  # type: ignore[no-any-return]

    def delete_alert(
        self,
        uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteAlertAnswer:
        r"""Stop an alert on every process and delete it, by the alert's uuid. Its queued notifications are deleted too."""
        return self._send(Route("DELETE", "/alert/{uuid}"), {"uuid": uuid}, timeout)  # type: ignore[no-any-return]

    def list_alerts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: str | None = None,
        alias: str | None = None,
        status: Literal["active", "inactive"] | None = None,
        timeout: float | None = None,
    ) -> ListAlertsAnswer:
        r"""List your registered alerts, active and inactive."""
        return self._send(Route("GET", "/alerts", query=("limit", "cursor", "sort", "type", "alias", "status",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "alias": alias, "status": status}, timeout)  # type: ignore[no-any-return]

    def list_active_alerts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: str | None = None,
        alias: str | None = None,
        process_uuid: str | None = None,
        timeout: float | None = None,
    ) -> ListActiveAlertsAnswer:
        r"""List active alerts with the processes they run on. One entry for each pair of alert and process (`process_uuid`), with the configuration that runs there. Alerts of single processes are included."""
        return self._send(Route("GET", "/active/alerts", query=("limit", "cursor", "sort", "type", "alias", "process_uuid",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "alias": alias, "process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def list_notices(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["timestamp", "-timestamp"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        alert: str | None = None,
        process: str | None = None,
        source: str | None = None,
        class_: str | None = None,
        reviewed: bool | None = None,
        evidence: Literal["pending", "ready", "partial", "failed", "skipped"] | None = None,
        timeout: float | None = None,
    ) -> ListNoticesAnswer:
        r"""List what your alerts have notified of. Every notice is kept for `evidence.retention_days`, also when its alert has no output, and when its alert, process or source is deleted."""
        return self._send(Route("GET", "/notices", query=("limit", "cursor", "sort", "from", "to", "alert", "process", "source", "class", "reviewed", "evidence",)), {"limit": limit, "cursor": cursor, "sort": sort, "from": from_, "to": to, "alert": alert, "process": process, "source": source, "class": class_, "reviewed": reviewed, "evidence": evidence}, timeout)  # type: ignore[no-any-return]

    def read_notice(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Notice:
        r"""Get a notice."""
        return self._send(Route("GET", "/notice/{notice_uuid}"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    def review_notice(
        self,
        notice_uuid: str,
        *,
        body: NoticeReview,
        timeout: float | None = None,
    ) -> Notice:
        r"""Mark a notice as reviewed, or comment on it. `reviewed_by` is the user of the key. An omitted field keeps its value; a comment of null is removed."""
        return self._send(Route("PATCH", "/notice/{notice_uuid}", body_type="application/json"), {"notice_uuid": notice_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def delete_notice(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteNoticeAnswer:
        r"""Delete a notice, and its evidence."""
        return self._send(Route("DELETE", "/notice/{notice_uuid}"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    def download_evidence_clip(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download the clip of a notice: MP4. What its alert requested (`evidence.clip`), without encoding again. Until it is complete: 409 with `Retry-After`. It is kept as long as the notice."""
        return self._send(Route("GET", "/notice/{notice_uuid}/clip"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    def download_evidence_snapshot(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download the snapshot of a notice: JPEG. The frame of the notice, without boxes: `tracks` of the notice has them. Up to 1280 pixels wide."""
        return self._send(Route("GET", "/notice/{notice_uuid}/snapshot"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    def subscribe(
        self,
        process_uuid: str,
        *,
        body: NewSubscription,
        timeout: float | None = None,
    ) -> CreatedSubscription:
        r"""Subscribe a URL to events of a process. Notifications are sent as JSON by POST, signed as defined by Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx status accepts a notification; otherwise it is retried with backoff for ten minutes, and later notifications are queued behind it. Redirects are not followed. Delivery is at least once: a repeated notification has the same `webhook-id`. The first notification is sent at once; events within the interval are combined into the next one. While the receiver is offline the undelivered notification stays queued, and new events are combined into the next one, which is sent an interval later. Tracks that are visible when the subscription starts count as new. A subscription ends with its process: combined events are then sent at once."""
        return self._send(Route("POST", "/subscribe/{process_uuid}", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def list_subscriptions(
        self,
        process_uuid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at"] | None = None,
        event_type: Literal["new-tracks", "target-count"] | None = None,
        timeout: float | None = None,
    ) -> ListSubscriptionsAnswer:
        r"""List the subscriptions to a process, with their delivery status."""
        return self._send(Route("GET", "/subscriptions/{process_uuid}", query=("limit", "cursor", "sort", "event_type",)), {"process_uuid": process_uuid, "limit": limit, "cursor": cursor, "sort": sort, "event_type": event_type}, timeout)  # type: ignore[no-any-return]

    def unsubscribe(
        self,
        process_uuid: str,
        *,
        notification_url: str | None = None,
        event_type: Literal["new-tracks", "target-count"] | None = None,
        body: SubscriptionChoice | None = None,
        timeout: float | None = None,
    ) -> UnsubscribeAnswer:
        r"""Delete subscriptions to a process and their queued notifications. `notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence. With neither, all subscriptions to the process are deleted."""
        return self._send(Route("DELETE", "/subscriptions/{process_uuid}", query=("notification_url", "event_type",), body_type="application/json"), {"process_uuid": process_uuid, "notification_url": notification_url, "event_type": event_type, "body": body}, timeout)  # type: ignore[no-any-return]

    def test_subscriptions(
        self,
        process_uuid: str,
        *,
        notification_url: str | None = None,
        event_type: Literal["new-tracks", "target-count"] | None = None,
        body: SubscriptionChoice | None = None,
        timeout: float | None = None,
    ) -> TestSubscriptionsAnswer:
        r"""Send a sample to the receivers of a process and return the results. `notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence. With neither, all are tested. Samples are signed like notifications, carry `sample: true`, are sent once, and are not queued behind other notifications."""
        return self._send(Route("POST", "/subscriptions/{process_uuid}/test", query=("notification_url", "event_type",), body_type="application/json"), {"process_uuid": process_uuid, "notification_url": notification_url, "event_type": event_type, "body": body}, timeout)  # type: ignore[no-any-return]

    def list_events(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        type: str | None = None,
        process: str | None = None,
        source: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        after: int | None = None,
        timeout: float | None = None,
    ) -> ListEventsAnswer:
        r"""List what has happened, or follow it as server-sent events. Every event of streams, processes, recordings, evidence, clips, reports and quotas of this key, stored in the transaction of the change itself: each once, also when a server is killed. They are kept for 30 days (`events.retention_days`), up to 10000 of a key (`events.per_key`). With `Accept: text/event-stream` the connection stays open: events after `Last-Event-ID` (or `after`) are sent from the log, then each new one; without either, new ones only. If some of these are no longer stored, an event `gap` says which. `event:` is the type, `id:` the number, `data:` the event. A comment is sent every 20 s; a client that reads nothing for 10 s is disconnected, and continues where it was with `Last-Event-ID`. Up to 8 such connections of a key on each node. A key that is limited to sources gets the events of these sources, with their numbers in the log of the account."""
        return self._send(Route("GET", "/events", query=("limit", "cursor", "type", "process", "source", "from", "to", "after",)), {"limit": limit, "cursor": cursor, "type": type, "process": process, "source": source, "from": from_, "to": to, "after": after}, timeout)  # type: ignore[no-any-return]

    def subscribe_to_events(
        self,
        *,
        body: NewEventSubscription,
        timeout: float | None = None,
    ) -> EventSubscription:
        r"""Send events to a webhook or an MQTT topic. One subscription for all streams and processes of this key, from now on; `source_uuid` limits it to a source and its processes. The subscription of a key that is limited to sources sends the events of these sources (`source_uuids`), also after the key is revoked, until it is deleted. Webhooks are signed as defined by Standard Webhooks and retried like those of `POST /subscribe/{process_uuid}`; delivery is at least once and in order, and `webhook-id` is the `uuid` of the event."""
        return self._send(Route("POST", "/events/subscriptions", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def list_event_subscriptions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> ListEventSubscriptionsAnswer:
        r"""List your subscriptions to events, with their delivery status."""
        return self._send(Route("GET", "/events/subscriptions", query=("limit", "cursor",)), {"limit": limit, "cursor": cursor}, timeout)  # type: ignore[no-any-return]

    def unsubscribe_from_events(
        self,
        subscription_uuid: str,
        *,
        timeout: float | None = None,
    ) -> UnsubscribeFromEventsAnswer:
        r"""Delete a subscription to events, and what waits for its receivers."""
        return self._send(Route("DELETE", "/events/subscription/{subscription_uuid}"), {"subscription_uuid": subscription_uuid}, timeout)  # type: ignore[no-any-return]

    def test_event_subscription(
        self,
        subscription_uuid: str,
        *,
        timeout: float | None = None,
    ) -> TestEventSubscriptionAnswer:
        r"""Send a sample to the receivers of a subscription and return the results. The sample has `sample: true`, is sent once, and is not queued behind events."""
        return self._send(Route("POST", "/events/subscription/{subscription_uuid}/test"), {"subscription_uuid": subscription_uuid}, timeout)  # type: ignore[no-any-return]

    def read_map(
        self,
        *,
        timeout: float | None = None,
    ) -> MapSettings:
        r"""Get the background and the terrain shading of maps. For the map of the console and your own: raster tiles of Web Mercator with 256 × 256 pixels."""
        return self._send(Route("GET", "/map"), {}, timeout)  # type: ignore[no-any-return]

    def download_map_tile(
        self,
        z: str,
        x: str,
        y: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get a tile of the background: an image. If `map.tiles` is a PMTiles file; otherwise 404."""
        return self._send(Route("GET", "/map/tiles/{z}/{x}/{y}"), {"z": z, "x": x, "y": y}, timeout)  # type: ignore[no-any-return]

    def download_terrain_tile(
        self,
        z: str,
        x: str,
        y: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get a tile of the terrain shading: PNG. Black and white with transparency, lit from the north-west, from the files in `terrain.folder`; without it 404. Tiles are computed one at a time, and those of different keys alternate."""
        return self._send(Route("GET", "/map/terrain/{z}/{x}/{y}"), {"z": z, "x": x, "y": y}, timeout)  # type: ignore[no-any-return]

    def list_branches(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> ListBranchesAnswer:
        r"""List the attached branches of a process, and the slots that can be attached."""
        return self._send(Route("GET", "/process/{process_uuid}/branches"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def attach_branch(
        self,
        process_uuid: str,
        *,
        body: NewBranch,
        timeout: float | None = None,
    ) -> Branch:
        r"""Attach a slot of the graph to a running process. A slot can be attached several times, each time with its own params. Branches count as active outputs of the key. They are attached again when the process is started again. Slots that the service attaches itself (`feed`, `view`, `recording`, `original`, `rtsp`, `rtmp`, `srt`, `cot`, `mqtt`, `mpegts`) are rejected, as are params that name a resource on the server."""
        return self._send(Route("POST", "/process/{process_uuid}/branches", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def detach_branch(
        self,
        process_uuid: str,
        branch_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DetachBranchAnswer:
        r"""Detach a branch from a process. Answers when the branch has ended and its files are complete."""
        return self._send(Route("DELETE", "/process/{process_uuid}/branches/{branch_uuid}"), {"process_uuid": process_uuid, "branch_uuid": branch_uuid}, timeout)  # type: ignore[no-any-return]

    def start_shadow(
        self,
        process_uuid: str,
        *,
        body: StartShadowBody,
        timeout: float | None = None,
    ) -> Shadow:
        r"""Run a variant of the graph beside a running process. Shows how another graph, version or param would behave on the live source, without touching the process. The shadow is a second runner on the same source, at a low priority. It has no outputs, alerts, webhooks, recordings, reports or stored detections: its detections are only compared with those of the process, frame by frame. Its graph may use elements whose `can_try` is true (`GET /elements/{name}`). It counts as a process of the key, uses its minutes, and ends after `seconds` or `frames`, or with the process. A process has one shadow at a time. Files that loop cannot have one: the second runner would be at another position."""
        return self._send(Route("POST", "/process/{process_uuid}/shadow", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def get_shadow(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Shadow:
        r"""Get the shadow of a process, with the comparison so far."""
        return self._send(Route("GET", "/process/{process_uuid}/shadow"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def stop_shadow(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Shadow:
        r"""End the shadow of a process."""
        return self._send(Route("DELETE", "/process/{process_uuid}/shadow"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    def list_graphs(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["name", "-name"] | None = None,
        origin: Literal["installed", "own"] | None = None,
        timeout: float | None = None,
    ) -> ListGraphsAnswer:
        r"""List the graphs: installed ones and your own. An own graph is listed with its current version, as compiled when it was stored."""
        return self._send(Route("GET", "/graphs", query=("limit", "cursor", "sort", "origin",)), {"limit": limit, "cursor": cursor, "sort": sort, "origin": origin}, timeout)  # type: ignore[no-any-return]

    def get_graph(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> Graph:
        r"""Get a graph: its params, its YAML and the compiled pipeline."""
        return self._send(Route("GET", "/graphs/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    def store_graph(
        self,
        name: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> GraphVersion:
        r"""Store a graph of your own. The graph as YAML, or as JSON: `{"yaml": "…"}`; its `graph` is the name in the path. Requires a key with the flag `graph_author`. It can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. A graph with faults is rejected with all of them, each with its line and column. Every new text is a new version, and becomes the current one; versions never change. Names of installed graphs cannot be used. The operator limits the number of graphs and versions, and the size of a text."""
        return self._send(Route("PUT", "/graphs/{name}", body_type="application/yaml"), {"name": name, "body": body}, timeout)  # type: ignore[no-any-return]

    def delete_graph(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> DeleteGraphAnswer:
        r"""Delete a graph of your own, with all its versions."""
        return self._send(Route("DELETE", "/graphs/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    def list_graph_versions(
        self,
        name: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at"] | None = None,
        timeout: float | None = None,
    ) -> ListGraphVersionsAnswer:
        r"""List the versions of a graph of your own."""
        return self._send(Route("GET", "/graphs/{name}/versions", query=("limit", "cursor", "sort",)), {"name": name, "limit": limit, "cursor": cursor, "sort": sort}, timeout)  # type: ignore[no-any-return]

    def get_graph_version(
        self,
        name: str,
        version: str,
        *,
        timeout: float | None = None,
    ) -> Graph:
        r"""Get one version of a graph of your own."""
        return self._send(Route("GET", "/graphs/{name}/versions/{version}"), {"name": name, "version": version}, timeout)  # type: ignore[no-any-return]

    def validate_graph(
        self,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> GraphValidation:
        r"""Validate a graph. The graph as YAML, or as JSON: `{"yaml": "…"}`. It is neither run nor stored."""
        return self._send(Route("POST", "/graphs/validate", body_type="application/yaml"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def list_elements(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        find: str | None = None,
        timeout: float | None = None,
    ) -> ListElementsAnswer:
        r"""List the elements that graphs can use."""
        return self._send(Route("GET", "/elements", query=("limit", "cursor", "find",)), {"limit": limit, "cursor": cursor, "find": find}, timeout)  # type: ignore[no-any-return]

    def get_element(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> Element:
        r"""Get everything about one element, as printed by `windhover inspect`."""
        return self._send(Route("GET", "/elements/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    def test_graph(
        self,
        name: str,
        *,
        body: TestGraphBody | None = None,
        timeout: float | None = None,
    ) -> GraphTestReport:
        r"""Run the tests of a graph. Requires a key with the flag `graph_author`. Runs `tests:` of a graph of your own, or of an installed one, one after the other, and answers when all have ended. `clip` of a test is `source:ALIAS` or `source:UUID`, a video that you have uploaded, or `test:PATTERN?frames=N`; tests of installed graphs can also name files beside the graph. Tests run at pace `fast`, up to 60 seconds each unless the operator has set another limit, with the elements of `POST /graphs/try`. Nothing is stored, and no alert is sent. A key runs its tests once at a time. Closing the connection cancels them."""
        return self._send(Route("POST", "/graphs/{name}/test", body_type="application/json"), {"name": name, "body": body}, timeout)  # type: ignore[no-any-return]

    def list_models(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["name", "-name"] | None = None,
        origin: Literal["installed", "own"] | None = None,
        timeout: float | None = None,
    ) -> ListModelsAnswer:
        r"""List the models: installed ones and your own."""
        return self._send(Route("GET", "/models", query=("limit", "cursor", "sort", "origin",)), {"limit": limit, "cursor": cursor, "sort": sort, "origin": origin}, timeout)  # type: ignore[no-any-return]

    def upload_model(
        self,
        *,
        body: Form,
        timeout: float | None = None,
    ) -> Model:
        r"""Upload a model of your own. A form with the ONNX file in the part `file`, and its card (YAML, as of `windhover models show NAME`) in the part `card`. Requires a key with the flag `graph_author`. The card and the network are checked, and the network is run on one image, in a process with limits. Graphs of this key name the model as `detect: { model: NAME }`, and `detect` takes it as the param `model`. The same model again is not stored again."""
        return self._send(Route("POST", "/models", body_type="multipart/form-data"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def delete_model(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> DeleteModelAnswer:
        r"""Delete a model of your own."""
        return self._send(Route("DELETE", "/models/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    def try_graph(
        self,
        *,
        body: TryGraphBody,
        timeout: float | None = None,
    ) -> StartedProcess:
        r"""Run your own graph for a minute. Requires a key with the flag `graph_author`. The graph can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. The process ends after 60 seconds."""
        return self._send(Route("POST", "/graphs/try", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    def get_process_graph(
        self,
        process_uuid: str,
        *,
        format: Literal["json", "dot", "mermaid", "launch"] | None = None,
        timeout: float | None = None,
    ) -> ProcessGraph:
        r"""Get the running graph of a process."""
        return self._send(Route("GET", "/process/{process_uuid}/graph", query=("format",)), {"process_uuid": process_uuid, "format": format}, timeout)  # type: ignore[no-any-return]

    def set_process_graph(
        self,
        process_uuid: str,
        *,
        body: dict[str, dict[str, Any]],
        timeout: float | None = None,
    ) -> SetProcessGraphAnswer:
        r"""Set live properties and params of a running graph. Values by node and property: `{"detect": {"confidence": 0.5}}`. `{"params": {"confidence": 0.5}}` sets params of the graph, and every property that uses them (in a graph with a node named `params` it addresses that node). The latest change of a property wins, also after a restart. All values are set or none; a property that is not mutable while PLAYING is rejected with 422 and the reason. `live_params` of `GET` lists the params that can be set."""
        return self._send(Route("PATCH", "/process/{process_uuid}/graph", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def upgrade_process_graph(
        self,
        process_uuid: str,
        *,
        body: UpgradeProcessGraphBody,
        timeout: float | None = None,
    ) -> ProcessUpgrade:
        r"""Change a running process to another version of its graph. For a process of a graph of your own. Answers with the differences, each labelled: `live` (a property is set without interruption), `branch` (a branch is attached or detached), `relaunch` (the pipeline is restarted; a file continues at its position, track ids continue). With `dry_run` nothing is changed. Otherwise it answers when the version runs. If it does not, the process continues with the version before, and the answer has the reason. Roll back with the previous version. Params that were given keep their values, others get the defaults of the version. Values set with `PATCH` stay where the version has the same node and property. A version without a slot that an output or branch uses is rejected."""
        return self._send(Route("POST", "/process/{process_uuid}/graph", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def get_process_graph_edge(
        self,
        process_uuid: str,
        *,
        from_: str,
        to: str,
        timeout: float | None = None,
    ) -> ProcessGraphEdge:
        r"""See the next frame between two nodes of a running graph. Answers with the next buffer that passes the edge: a picture if it is raw video, as it is there, and the metadata of the frame. Of encoded video it answers only the caps. The stream neither waits nor loses a frame, and nothing is measured while no one asks. Requests for one edge within a fifth of a second get the same frame."""
        return self._send(Route("GET", "/process/{process_uuid}/graph/edge", query=("from", "to",)), {"process_uuid": process_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    def get_console(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return self._send(Route("GET", "/console"), {}, timeout)  # type: ignore[no-any-return]

    def get_console_page(
        self,
        page: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return self._send(Route("GET", "/console/{page}"), {"page": page}, timeout)  # type: ignore[no-any-return]

    def get_console_thing(
        self,
        page: str,
        thing: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return self._send(Route("GET", "/console/{page}/{thing}"), {"page": page, "thing": thing}, timeout)  # type: ignore[no-any-return]

    def get_console_part(
        self,
        page: str,
        thing: str,
        part: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return self._send(Route("GET", "/console/{page}/{thing}/{part}"), {"page": page, "thing": thing, "part": part}, timeout)  # type: ignore[no-any-return]

    def get_console_asset(
        self,
        file: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""A file of the operator's console."""
        return self._send(Route("GET", "/console/assets/{file}"), {"file": file}, timeout)  # type: ignore[no-any-return]

    def read_demo(
        self,
        *,
        timeout: float | None = None,
    ) -> DemoState:
        r"""Get the state of the demo. Requires an operator key."""
        return self._send(Route("GET", "/demo"), {}, timeout)  # type: ignore[no-any-return]

    def start_demo(
        self,
        *,
        timeout: float | None = None,
    ) -> RunningDemo:
        r"""Start the demo. Registers a clip of a street as the source `Demo: street`, which is played in a loop like a camera, and starts a process with the graph `detect` on it. Answers when the process runs. The first time, the clip is downloaded (a few megabytes, from Debian's package `opencv-doc`) and converted, which takes a while; `GET /demo` shows the progress. Parts that already run are left unchanged. Requires an operator key."""
        return self._send(Route("POST", "/demo"), {}, timeout)  # type: ignore[no-any-return]

    def stop_demo(
        self,
        *,
        timeout: float | None = None,
    ) -> StopDemoAnswer:
        r"""Stop the demo. Stops its process and all other processes on its source, and deletes the source. The clip stays in the cache. Requires an operator key."""
        return self._send(Route("DELETE", "/demo"), {}, timeout)  # type: ignore[no-any-return]

    def list_nodes(
        self,
        *,
        timeout: float | None = None,
    ) -> NodeListing:
        r"""List the nodes of the service. One, unless several machines share a database. Requires an operator key."""
        return self._send(Route("GET", "/nodes"), {}, timeout)  # type: ignore[no-any-return]

    def drain_node(
        self,
        node_uuid: str,
        *,
        body: DrainNode | None = None,
        timeout: float | None = None,
    ) -> Node:
        r"""Drain a node. It takes no more processes and hands its own over to other nodes, one after the other. It stays drained until it is restarted or `DELETE` ends it. Requires an operator key."""
        return self._send(Route("POST", "/nodes/{node_uuid}/drain", body_type="application/json"), {"node_uuid": node_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    def undrain_node(
        self,
        node_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Node:
        r"""End the draining of a node. It takes processes again. Those that it has handed over stay where they are. Requires an operator key."""
        return self._send(Route("DELETE", "/nodes/{node_uuid}/drain"), {"node_uuid": node_uuid}, timeout)  # type: ignore[no-any-return]

    def is_alive(
        self,
        *,
        timeout: float | None = None,
    ) -> Probe:
        r"""Whether the server runs. For liveness probes: it does not depend on the database. Needs no key."""
        return self._send(Route("GET", "/healthz"), {}, timeout)  # type: ignore[no-any-return]

    def is_ready(
        self,
        *,
        timeout: float | None = None,
    ) -> Probe:
        r"""Whether the server takes requests. For load balancers: 503 while the database cannot be reached, the node drains or the service shuts down. Needs no key."""
        return self._send(Route("GET", "/readyz"), {}, timeout)  # type: ignore[no-any-return]

    def read_metrics(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        r"""Metrics for Prometheus. Frames, latency, drops, inference and memory of every process; streams, players and memory of the media hub; jitter, round trip and loss of every published stream; notifications and their delivery; stored detections; the nodes, their reserved cores and processes without room; requests by route; health of the components. Requires an operator key (the first key, or one created with `keys create --operator`), in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`, unless `http.metrics_open` is set."""
        return self._send(Route("GET", "/metrics"), {}, timeout)  # type: ignore[no-any-return]

    def get_open_api(
        self,
        *,
        timeout: float | None = None,
    ) -> GetOpenApiAnswer:
        r"""This document."""
        return self._send(Route("GET", "/openapi.json"), {}, timeout)  # type: ignore[no-any-return]

    def get_async_api(
        self,
        *,
        timeout: float | None = None,
    ) -> GetAsyncApiAnswer:
        r"""The messages of websockets, server-sent events, webhooks and MQTT topics."""
        return self._send(Route("GET", "/asyncapi.json"), {}, timeout)  # type: ignore[no-any-return]

    def get_overview(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        r"""The API in one page of text, for programs that read text."""
        return self._send(Route("GET", "/llms.txt"), {}, timeout)  # type: ignore[no-any-return]

    def get_docs(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""This document as an interactive page."""
        return self._send(Route("GET", "/docs"), {}, timeout)  # type: ignore[no-any-return]



class AsyncOperations:
    def __init__(self, send: Callable[[Route, dict[str, Any], float | None], Awaitable[Any]]) -> None:
        self._send = send

    async def get_status(
        self,
        *,
        timeout: float | None = None,
    ) -> Status:
        r"""Get the status of the service. Needs no key. With a valid key it includes the status of each component."""
        return await self._send(Route("GET", "/status"), {}, timeout)  # type: ignore[no-any-return]

    async def login(
        self,
        *,
        timeout: float | None = None,
    ) -> Login:
        r"""Validate an API key. On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent."""
        return await self._send(Route("GET", "/login"), {}, timeout)  # type: ignore[no-any-return]

    async def login_by_post(
        self,
        *,
        timeout: float | None = None,
    ) -> Login:
        r"""Validate an API key. On 403, `code` says whether the key is missing, invalid or expired. GET and POST are equivalent."""
        return await self._send(Route("POST", "/login"), {}, timeout)  # type: ignore[no-any-return]

    async def get_user_info(
        self,
        *,
        timeout: float | None = None,
    ) -> UserInformation:
        r"""Get the limits, features and remaining minutes of a key."""
        return await self._send(Route("GET", "/user_info"), {}, timeout)  # type: ignore[no-any-return]

    async def get_info(
        self,
        *,
        timeout: float | None = None,
    ) -> OldInformation:
        r"""Get the remaining minutes of a key, in the format used before `GET /user_info`. Deprecated."""
        return await self._send(Route("GET", "/info"), {}, timeout)  # type: ignore[no-any-return]

    async def allocate_minutes(
        self,
        *,
        body: Allocation,
        timeout: float | None = None,
    ) -> Allocated:
        r"""Allocate pending minutes of a master key to itself or to one of its child keys. All or nothing. Concurrent calls never allocate more than is pending. A key without a limit cannot receive minutes, since they would be lost: 409 `minutes_unlimited`."""
        return await self._send(Route("POST", "/subscription/allocate", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def list_keys(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        username: str | None = None,
        state: Literal["current", "all"] | None = None,
        timeout: float | None = None,
    ) -> ListKeysAnswer:
        r"""List the keys of your account and, for a master key, of its children. Without revoked keys, unless `state` is `all`. The keys themselves are not stored."""
        return await self._send(Route("GET", "/keys", query=("limit", "cursor", "username", "state",)), {"limit": limit, "cursor": cursor, "username": username, "state": state}, timeout)  # type: ignore[no-any-return]

    async def create_key(
        self,
        *,
        body: CreateKeyBody,
        timeout: float | None = None,
    ) -> CreatedKey:
        r"""Create a key. For your account or, with a master key, for one of its children. It cannot have more scopes, other sources or a later expiry than the key of the request. The key is shown only in this answer."""
        return await self._send(Route("POST", "/key", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def read_key(
        self,
        key_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Key:
        r"""Get a key, without its secret."""
        return await self._send(Route("GET", "/key/{key_uuid}"), {"key_uuid": key_uuid}, timeout)  # type: ignore[no-any-return]

    async def change_key(
        self,
        key_uuid: str,
        *,
        body: ChangeKeyBody,
        timeout: float | None = None,
    ) -> Key:
        r"""Change the name or the expiry of a key. An omitted field keeps its value. Scopes and sources cannot be changed: create another key."""
        return await self._send(Route("PATCH", "/key/{key_uuid}", body_type="application/json"), {"key_uuid": key_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def revoke_key(
        self,
        key_uuid: str,
        *,
        timeout: float | None = None,
    ) -> RevokeKeyAnswer:
        r"""Revoke a key. Requests with it are rejected at once, by other nodes within a second; its websockets, streams and publishers end within seconds. Processes that it has started continue."""
        return await self._send(Route("DELETE", "/key/{key_uuid}"), {"key_uuid": key_uuid}, timeout)  # type: ignore[no-any-return]

    async def rotate_key(
        self,
        key_uuid: str,
        *,
        body: RotateKeyBody | None = None,
        timeout: float | None = None,
    ) -> CreatedKey:
        r"""Replace a key by a new one with the same rights. The old key stays valid for `overlap_seconds`, so that clients can change over; then its open streams end. The new key is shown only in this answer."""
        return await self._send(Route("POST", "/key/{key_uuid}/rotate", body_type="application/json"), {"key_uuid": key_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def list_accounts(
        self,
        *,
        timeout: float | None = None,
    ) -> ListAccountsAnswer:
        r"""List your account and its children, with limits and features."""
        return await self._send(Route("GET", "/accounts"), {}, timeout)  # type: ignore[no-any-return]

    async def change_account(
        self,
        username: str,
        *,
        body: ChangeAccountBody,
        timeout: float | None = None,
    ) -> Account:
        r"""Change limits and features of a child account. A master gives its children at most what it has itself. Your own account can be changed with an operator key. An omitted field keeps its value."""
        return await self._send(Route("PATCH", "/account/{username}", body_type="application/json"), {"username": username, "body": body}, timeout)  # type: ignore[no-any-return]

    async def read_sign_in_options(
        self,
        *,
        timeout: float | None = None,
    ) -> SignInOptions:
        r"""Ways to sign in to the console."""
        return await self._send(Route("GET", "/sign_in"), {}, timeout)  # type: ignore[no-any-return]

    async def begin_sign_in(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Sign in through the identity provider: for browsers. Redirects to the provider, which redirects back to `/sign_in/oidc/callback`."""
        return await self._send(Route("GET", "/sign_in/oidc"), {}, timeout)  # type: ignore[no-any-return]

    async def finish_sign_in(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The way back from the identity provider: for browsers. Sets the cookie of the session: not readable by scripts, only sent by pages of this service, valid for `oidc.session_seconds`. Parameters are those of OpenID Connect."""
        return await self._send(Route("GET", "/sign_in/oidc/callback"), {}, timeout)  # type: ignore[no-any-return]

    async def sign_out(
        self,
        *,
        timeout: float | None = None,
    ) -> SignedOut:
        r"""End the session of the console. Its cookie is deleted, and the session ends everywhere. An API key stays valid."""
        return await self._send(Route("POST", "/sign_out"), {}, timeout)  # type: ignore[no-any-return]

    async def upload_video(
        self,
        *,
        body: Form,
        timeout: float | None = None,
    ) -> Source:
        r"""Upload a video file. A form with the file (mp4, mov, avi, ts, mkv or webm) in the part `file`, an optional `alias` (default: the file name) and an optional `loop`. A part with another name is accepted if it contains the only file. A part `telemetry` may contain the telemetry of the flight; `telemetry_format`, `telemetry_offset_seconds` and `telemetry_parameters` are the fields of `POST /source/{source_id}/telemetry`. KLV metadata (MISB ST 0601) of a ts file is found in it. With `loop=true`, a process plays the file as a live source: it never finishes by itself, and after a restart it begins at the start of the file. If you already have a source with the same bytes and the same `loop`, that source is returned and nothing is stored."""
        return await self._send(Route("POST", "/video", body_type="multipart/form-data"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def register_stream(
        self,
        *,
        body: NewStream,
        timeout: float | None = None,
    ) -> Source:
        r"""Register a live stream. If you already have a source with the same URL and telemetry, that source is returned. A URL of this service's media server (`publish_urls` of `GET /user_info`, with a path behind it: `rtmp://{host}:1935/<username>/<path>`, `rtsp://{host}:8554/<username>/<path>` or `srt://{host}:8890/<username>/<path>`) makes it a media-server source: publish your stream to that URL, with your API key as the password or as `?api_key=`; by SRT with the stream id `#!::r=<username>/<path>,u=<key>,m=publish`. The event `stream-began` says when it can be played, `stream-rejected` why not."""
        return await self._send(Route("POST", "/stream", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def list_sources(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: Literal["file", "stream"] | None = None,
        stream_type: Literal["rtsp", "rtmp", "srt", "udp"] | None = None,
        alias: str | None = None,
        status: Literal["unknown", "offline", "streaming", "processing"] | None = None,
        timeout: float | None = None,
    ) -> ListSourcesAnswer:
        r"""List your sources."""
        return await self._send(Route("GET", "/sources", query=("limit", "cursor", "sort", "type", "stream_type", "alias", "status",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "stream_type": stream_type, "alias": alias, "status": status}, timeout)  # type: ignore[no-any-return]

    async def read_source(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> SourceDetails:
        r"""Get a source."""
        return await self._send(Route("GET", "/source/{source_id}"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    async def change_source(
        self,
        source_id: str,
        *,
        body: SourceChange,
        timeout: float | None = None,
    ) -> Source:
        r"""Change the alias or the telemetry of a source."""
        return await self._send(Route("PATCH", "/source/{source_id}", body_type="application/json"), {"source_id": source_id, "body": body}, timeout)  # type: ignore[no-any-return]

    async def delete_source(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> DeleteSourceAnswer:
        r"""Delete a source that no process uses, and its file."""
        return await self._send(Route("DELETE", "/source/{source_id}"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    async def upload_telemetry(
        self,
        source_id: str,
        *,
        body: Form,
        timeout: float | None = None,
    ) -> SourceTelemetry:
        r"""Upload the telemetry of a video. A form with a telemetry file in the part `file`: subtitles of a DJI drone (`dji_srt`), a flight log as CSV (`flight_csv`), a MAVLink `.tlog` (`mavlink`), or one message per line (`native`, `vendor_a`). It replaces what the source had, and is used by processes that start afterwards, unless the source has a `telemetry_cfg`. Its times are aligned to the video as `offset_method` of the answer says."""
        return await self._send(Route("POST", "/source/{source_id}/telemetry", body_type="multipart/form-data"), {"source_id": source_id, "body": body}, timeout)  # type: ignore[no-any-return]

    async def read_telemetry(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> SourceTelemetry:
        r"""Get the recorded telemetry of a video."""
        return await self._send(Route("GET", "/source/{source_id}/telemetry"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    async def delete_telemetry(
        self,
        source_id: str,
        *,
        timeout: float | None = None,
    ) -> DeleteTelemetryAnswer:
        r"""Delete the recorded telemetry of a video."""
        return await self._send(Route("DELETE", "/source/{source_id}/telemetry"), {"source_id": source_id}, timeout)  # type: ignore[no-any-return]

    async def calibrate_source(
        self,
        source_uuid: str,
        *,
        body: NewCalibration,
        timeout: float | None = None,
    ) -> Calibration:
        r"""Calibrate the heading of a source with landmarks. A process must run on the source, with telemetry that has position and attitude. A landmark is a point of the picture whose coordinates you know; one is enough, and several in different frames reduce the error. Choose landmarks that are far away: 1 m is 0.6 degrees at 100 m. The offset between the bearing of the landmarks and that of their picture is stored with the source, replaces the one before, and is added to the heading of all its processes from now on. Positions that were computed before do not change."""
        return await self._send(Route("POST", "/source/{source_uuid}/calibration", body_type="application/json"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def read_calibration(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Calibration:
        r"""Get the calibration of the heading of a source."""
        return await self._send(Route("GET", "/source/{source_uuid}/calibration"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    async def delete_calibration(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteCalibrationAnswer:
        r"""Use the heading of a source as its telemetry reports it."""
        return await self._send(Route("DELETE", "/source/{source_uuid}/calibration"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    async def list_recordings(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["started_at", "-started_at", "alias", "-alias"] | None = None,
        source_uuid: str | None = None,
        alias: str | None = None,
        since: str | None = None,
        until: str | None = None,
        timeout: float | None = None,
    ) -> ListRecordingsAnswer:
        r"""List the recordings of your media-server sources. A recording starts when a stream is published, or a process pulls a camera that is to be recorded, and ends with it; until then `stopped_at` is null. Recordings are kept for their retention time, also when their source is deleted."""
        return await self._send(Route("GET", "/sources/recordings", query=("limit", "cursor", "sort", "source_uuid", "alias", "since", "until",)), {"limit": limit, "cursor": cursor, "sort": sort, "source_uuid": source_uuid, "alias": alias, "since": since, "until": until}, timeout)  # type: ignore[no-any-return]

    async def read_recording_setting(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> RecordingSetting:
        r"""Get how a source is recorded."""
        return await self._send(Route("GET", "/source/{source_uuid}/recording"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    async def change_recording_setting(
        self,
        source_uuid: str,
        *,
        body: RecordingChange,
        timeout: float | None = None,
    ) -> RecordingSetting:
        r"""Change how a source is recorded: start or stop recording now. For streams that are published to the service, and for cameras while a process pulls them (default: `off`). `always` starts to record a live stream now, with the seconds before (`pre_roll_seconds`, as far as they were kept: set them while it is not recorded). `off` ends the recording. `on_alert` records `recordings.on_alert_seconds` from each notice of an alert on this source. Omitted fields keep their values. Takes effect within some seconds."""
        return await self._send(Route("PATCH", "/source/{source_uuid}/recording", body_type="application/json"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def download_clip(
        self,
        source_uuid: str,
        *,
        from_: str,
        to: str,
        boxes: bool | None = None,
        process_uuid: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download a clip of a recorded stream or of a file: MP4. Cut out of the recordings of a media-server source, or out of an uploaded video, without encoding again. The first frame is the one on display at `from`, the last one the last before `to`. Of a recording, one second of the clip is one second of real time: where it has a gap, the last frame before it stays. `Windhover-Clip` is the time range of the frames, `Windhover-Gaps` lists the parts of the requested range without video, both as `from/to`. The clip has the codec of the video. With `boxes=true`, and of a video that is not H.264 or H.265 in MP4 or QuickTime, the clip is rendered, up to 10 seconds of it, and kept as one of `GET /clips`; the same request sends it again. `POST /clips` renders longer ones."""
        return await self._send(Route("GET", "/source/{source_uuid}/clip", query=("from", "to", "boxes", "process_uuid",)), {"source_uuid": source_uuid, "from": from_, "to": to, "boxes": boxes, "process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def download_video(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download an uploaded video. The file as it was uploaded, also an MPEG-TS with its KLV metadata. The whole file, or the part selected by `Range`."""
        return await self._send(Route("GET", "/source/{source_uuid}/file"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    async def download_thumbnail(
        self,
        source_uuid: str,
        *,
        at: str,
        width: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get the picture of a source at a time: JPEG. The frame on display at that time, from the recordings of a media-server source or from the video of a file, for time lines and lists. Ask for one that is not needed any longer by closing the request."""
        return await self._send(Route("GET", "/source/{source_uuid}/thumbnail", query=("at", "width",)), {"source_uuid": source_uuid, "at": at, "width": width}, timeout)  # type: ignore[no-any-return]

    async def render_clip(
        self,
        *,
        body: NewClip,
        timeout: float | None = None,
    ) -> Clip:
        r"""Render a clip of a source, with or without boxes: MP4. The clip is encoded as H.264, without sound, by a job: `GET /clip/{clip_uuid}` shows its progress and, when it is ready, a signed URL; the event `clip-ready` or `clip-failed` (`GET /events`) says when. Works for all sources: recorded streams and files of every codec. Boxes, labels and trails are those of the stored detections, drawn as on the processed video. Clips are kept for `evidence.retention_days` or until deleted, and count in the storage of recordings of the key."""
        return await self._send(Route("POST", "/clips", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def list_clips(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at"] | None = None,
        source_uuid: str | None = None,
        state: Literal["queued", "rendering", "ready", "failed"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> ListClipsAnswer:
        r"""List your rendered clips."""
        return await self._send(Route("GET", "/clips", query=("limit", "cursor", "sort", "source_uuid", "state", "from", "to",)), {"limit": limit, "cursor": cursor, "sort": sort, "source_uuid": source_uuid, "state": state, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def read_clip(
        self,
        clip_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Clip:
        r"""Get a rendered clip: its state and progress."""
        return await self._send(Route("GET", "/clip/{clip_uuid}"), {"clip_uuid": clip_uuid}, timeout)  # type: ignore[no-any-return]

    async def delete_clip(
        self,
        clip_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteClipAnswer:
        r"""Cancel or delete a rendered clip."""
        return await self._send(Route("DELETE", "/clip/{clip_uuid}"), {"clip_uuid": clip_uuid}, timeout)  # type: ignore[no-any-return]

    async def download_rendered_clip(
        self,
        clip_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download a rendered clip: MP4. The whole file, or the part selected by `Range`. `download_url` of the record is this URL, signed."""
        return await self._send(Route("GET", "/clip/{clip_uuid}/file"), {"clip_uuid": clip_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_timeline(
        self,
        source_uuid: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Timeline:
        r"""Get what happened on a source: recorded times, processes, tracks and notices of alerts. For a time line, of a week at most. Its size is bounded: `activity` merges tracks to what a screen can show, and `tracks` lists them for shorter ranges. Times of a stream are those of its frames. A file source is analysed anew by each process: its times are seconds from the start of the video, and the results of all processes are on the same time line. A file that is played as a live source (`loop`) has times of day and no recorded ranges."""
        return await self._send(Route("GET", "/source/{source_uuid}/timeline", query=("from", "to",)), {"source_uuid": source_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def start_process(
        self,
        *,
        source_uuid: str | None = None,
        recording_uuid: str | None = None,
        index: int | None = None,
        graph: str | None = None,
        body: StartProcess | None = None,
        timeout: float | None = None,
    ) -> StartedProcess:
        r"""Start a process on a source. Answers when the first frame of the source has been decoded. If no frame arrives within `runners.start_seconds` of the service (5 seconds by default) it answers 400; if this machine is too busy to start the process now, 503 with `Retry-After`. Where several nodes form one service, the process starts on one that has room; if none has, 503 `capacity_exhausted`. A start that fails, or whose client disconnects before the answer, leaves no process. With `wait`, it answers at once, and the process waits for its source: it counts towards the process limit, uses no minutes and no runner, and keeps what is attached to it; see the state `waiting`. With `recording_uuid`, recorded video is copied within the service and registered as a video (a second start uses the same one); it counts towards the limits of uploads, and is kept when the recording is removed."""
        return await self._send(Route("POST", "/start", query=("source_uuid", "recording_uuid", "index", "graph",), body_type="application/json"), {"source_uuid": source_uuid, "recording_uuid": recording_uuid, "index": index, "graph": graph, "body": body}, timeout)  # type: ignore[no-any-return]

    async def list_processes(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "finished_at", "-finished_at"] | None = None,
        state: Literal["active", "all", "starting", "waiting", "running", "paused", "stopping", "finished", "failed"] | None = None,
        source_uuid: str | None = None,
        graph: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> ListProcessesAnswer:
        r"""List your processes. Active processes, unless `state` says otherwise."""
        return await self._send(Route("GET", "/processes", query=("limit", "cursor", "sort", "state", "source_uuid", "graph", "from", "to",)), {"limit": limit, "cursor": cursor, "sort": sort, "state": state, "source_uuid": source_uuid, "graph": graph, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def stop_processes(
        self,
        *,
        timeout: float | None = None,
    ) -> StoppedProcesses:
        r"""Stop all your processes. Answers when all of them have stopped."""
        return await self._send(Route("DELETE", "/processes"), {}, timeout)  # type: ignore[no-any-return]

    async def read_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Process:
        r"""Get a process."""
        return await self._send(Route("GET", "/process/{process_uuid}"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def stop_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StopProcessAnswer:
        r"""Stop a process. Answers when the process has stopped; at once for one that has already ended. A process on another machine is stopped there."""
        return await self._send(Route("DELETE", "/process/{process_uuid}"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def pause_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Process:
        r"""Pause a process. Sockets and outputs stay open, but no data flows. Paused time uses no minutes; the process still counts towards the process limit."""
        return await self._send(Route("POST", "/process/{process_uuid}/pause"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def resume_process(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Process:
        r"""Resume a paused process. A file continues where it was paused, a live source with its current frame."""
        return await self._send(Route("POST", "/process/{process_uuid}/resume"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def stop_process_old(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StopProcessOldAnswer:
        r"""Stop a process. Use `DELETE /process/{process_uuid}`. Deprecated."""
        return await self._send(Route("POST", "/process/{process_uuid}/stop"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def stop_processes_old(
        self,
        *,
        timeout: float | None = None,
    ) -> StoppedProcesses:
        r"""Stop all your processes. Use `DELETE /processes`. Deprecated."""
        return await self._send(Route("POST", "/process/stop_all"), {}, timeout)  # type: ignore[no-any-return]

    async def get_process_urls(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> ProcessUrls:
        r"""Get URLs of the streams of a process that contain a token instead of the key. For players, pages and people that must not get the key. Each is valid until `expires_at` for streams that are opened, which then stay open; a token allows nothing else."""
        return await self._send(Route("GET", "/process/{process_uuid}/urls"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def watch_feed(
        self,
        process_uuid: str,
        *,
        overlay: Literal["boxes", "none"] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Processed frames as a stream of JPEGs. Each part has the header `X-Timestamp`, the time of its frame. Frames are encoded only while there are viewers. A slow viewer misses frames; a viewer that reads nothing for 10 s is disconnected. Feed and events of one process share a limit of 1000 viewers. The stream ends with the process."""
        return await self._send(Route("GET", "/process/{process_uuid}/feed", query=("overlay",)), {"process_uuid": process_uuid, "overlay": overlay}, timeout)  # type: ignore[no-any-return]

    async def watch_events(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Events of a process, as server-sent events. `detections` (one frame on which inference ran), `drone` (camera position and attitude, as on `drone_data`), `camera` (its position and the ground that it sees, once per second of video), `state` (first, last and on every change), `stats` (once a second), `telemetry` (for a source with telemetry: first, and when its status changes), `alert` (a notification). Feed and events of one process share a limit of 1000 viewers. A viewer that does not keep up loses the oldest events; the next event says how many (`dropped`). Events are not sent again: `Last-Event-ID` is ignored. The stream ends with the process."""
        return await self._send(Route("GET", "/process/{process_uuid}/events"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def download_process_recording(
        self,
        process_uuid: str,
        index: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download one file of the processed video of a process: fragmented MP4. For keys with process recording. A new file starts with each start of the runner, and when a file reaches the configured segment length; `recordings` of the process lists the files. They are kept for the retention time of recordings. The whole file, or the part selected by `Range`; while the process runs, what has been written so far."""
        return await self._send(Route("GET", "/process/{process_uuid}/recording/{index}"), {"process_uuid": process_uuid, "index": index}, timeout)  # type: ignore[no-any-return]

    async def stream_detections(
        self,
        process_uuid: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get the stored detections of a process. One message per line, as on the socket `detection_data`, oldest first; of a process that runs, what it has sent so far. Messages are stored while recording is enabled and the disk has space, and are kept for the retention time of recordings (`recordings.retention_days`). A process without stored messages in this range gets an empty answer."""
        return await self._send(Route("GET", "/process/{process_uuid}/detections", query=("from", "to",)), {"process_uuid": process_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def stream_camera(
        self,
        process_uuid: str,
        *,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get the stored positions of the camera of a process. One message per line, as the event `camera`: about one per second of video, oldest first, with the ground that the camera saw. Stored and kept with the detections of the process. Empty for a source without telemetry."""
        return await self._send(Route("GET", "/process/{process_uuid}/camera", query=("from", "to",)), {"process_uuid": process_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def read_process_recording_setting(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> ProcessRecordingSetting:
        r"""Get whether the processed video of a process is recorded."""
        return await self._send(Route("GET", "/process/{process_uuid}/recording"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def change_process_recording_setting(
        self,
        process_uuid: str,
        *,
        body: ProcessRecordingChange,
        timeout: float | None = None,
    ) -> ProcessRecordingSetting:
        r"""Start or stop recording the processed video of a process. For keys with process recording. `on_alert` records `recordings.on_alert_seconds` from each notice of the process on. Takes effect within some seconds, and holds after restarts."""
        return await self._send(Route("PATCH", "/process/{process_uuid}/recording", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def attach_output(
        self,
        process_uuid: str,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Output:
        r"""Attach an output to a process. An output is attached to one active process at a time. Attaching it to the same process again changes nothing."""
        return await self._send(Route("POST", "/process/{process_uuid}/{output_uuid}"), {"process_uuid": process_uuid, "output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    async def detach_output(
        self,
        process_uuid: str,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DetachOutputAnswer:
        r"""Detach an output from a process. The output stays registered."""
        return await self._send(Route("DELETE", "/process/{process_uuid}/{output_uuid}"), {"process_uuid": process_uuid, "output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_detection_data(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Websocket: one message for every frame on which inference ran. A client that does not keep up loses the oldest messages; the next message says how many (`dropped`). One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`."""
        return await self._send(Route("GET", "/process/{process_uuid}/detection_data"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_drone_data(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Websocket: telemetry messages as received. In the native fields, independent of the format of the source. For a source with static telemetry its only message is sent on connection. A client that does not keep up loses the oldest messages; the next message says how many (`dropped`). One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`."""
        return await self._send(Route("GET", "/process/{process_uuid}/drone_data"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def register_output(
        self,
        *,
        body: NewOutput,
        timeout: float | None = None,
    ) -> Output:
        r"""Register an output. If you already have an output with the same type, URL and settings, that output is returned."""
        return await self._send(Route("POST", "/output", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def list_outputs(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: Literal["rtsp", "rtmp", "srt", "detection_data", "drone_data", "cot", "mqtt", "mpegts"] | None = None,
        alias: str | None = None,
        process_uuid: str | None = None,
        timeout: float | None = None,
    ) -> ListOutputsAnswer:
        r"""List your outputs."""
        return await self._send(Route("GET", "/outputs", query=("limit", "cursor", "sort", "type", "alias", "process_uuid",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "alias": alias, "process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_output(
        self,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Output:
        r"""Get an output."""
        return await self._send(Route("GET", "/output/{output_uuid}"), {"output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    async def change_output(
        self,
        output_uuid: str,
        *,
        body: OutputChange,
        timeout: float | None = None,
    ) -> Output:
        r"""Change the alias, URL or video settings of an output. Omitted fields keep their values. While the output is attached to a process, only its alias can be changed."""
        return await self._send(Route("PATCH", "/output/{output_uuid}", body_type="application/json"), {"output_uuid": output_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def delete_output(
        self,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteOutputAnswer:
        r"""Delete an output that is not attached."""
        return await self._send(Route("DELETE", "/output/{output_uuid}"), {"output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    async def send_telemetry(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Websocket: camera position and attitude, sent by the client. Each text frame is one JSON telemetry message, native or in the format of the source. If the telemetry channel of the source is not `websocket`, the upgrade is rejected with 409 and the reason. An invalid message is answered with `{"error": {…}}` and has no effect; a valid message is not answered. One client at a time, unless the account may have more readers (limit `socket_clients`): a further one gets 409. The server pings every 20 s and closes the socket when two pings go unanswered. It closes with 1000 when the process ends, with 1001 when the service shuts down. Send the key in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`."""
        return await self._send(Route("GET", "/process/{process_uuid}/telemetry"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_source_stats(
        self,
        source_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StreamStats:
        r"""Statistics of the live stream of a media-server source. Frames, readers, and the quality of the connection to the publisher. Measured once per second."""
        return await self._send(Route("GET", "/source/{source_uuid}/stream"), {"source_uuid": source_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_source_hls(
        self,
        source_uuid: str,
        file: str,
        *,
        _HLS_msn: int | None = None,
        _HLS_skip: str | None = None,
        _HLS_part: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play a media-server source by low-latency HLS. Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token."""
        return await self._send(Route("GET", "/source/{source_uuid}/hls/{file}", query=("_HLS_msn", "_HLS_skip", "_HLS_part",)), {"source_uuid": source_uuid, "file": file, "_HLS_msn": _HLS_msn, "_HLS_skip": _HLS_skip, "_HLS_part": _HLS_part}, timeout)  # type: ignore[no-any-return]

    async def watch_source(
        self,
        source_uuid: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play a media-server source by WebRTC (WHEP). The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL."""
        return await self._send(Route("POST", "/source/{source_uuid}/whep", body_type="application/sdp"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def leave_source(
        self,
        source_uuid: str,
        session: str,
        *,
        timeout: float | None = None,
    ) -> LeaveSourceAnswer:
        r"""End a session that was started with POST /source/{source_uuid}/whep."""
        return await self._send(Route("DELETE", "/source/{source_uuid}/whep/{session}"), {"source_uuid": source_uuid, "session": session}, timeout)  # type: ignore[no-any-return]

    async def read_output_stats(
        self,
        output_uuid: str,
        *,
        timeout: float | None = None,
    ) -> StreamStats:
        r"""Statistics of the live stream of an rtsp output. Frames, readers, and the quality of the connection to the publisher. Measured once per second."""
        return await self._send(Route("GET", "/output/{output_uuid}/stream"), {"output_uuid": output_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_output_hls(
        self,
        output_uuid: str,
        file: str,
        *,
        _HLS_msn: int | None = None,
        _HLS_skip: str | None = None,
        _HLS_part: int | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play an rtsp output by low-latency HLS. Players start with `index.m3u8`; `hls_url` of the record is its URL. URLs in playlists contain a session token."""
        return await self._send(Route("GET", "/output/{output_uuid}/hls/{file}", query=("_HLS_msn", "_HLS_skip", "_HLS_part",)), {"output_uuid": output_uuid, "file": file, "_HLS_msn": _HLS_msn, "_HLS_skip": _HLS_skip, "_HLS_part": _HLS_part}, timeout)  # type: ignore[no-any-return]

    async def watch_output(
        self,
        output_uuid: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> Answer:
        r"""Play an rtsp output by WebRTC (WHEP). The body is the player's SDP offer, the answer is the media server's SDP answer. DELETE the URL in `Location` to end the session. `webrtc_url` of the record is this URL."""
        return await self._send(Route("POST", "/output/{output_uuid}/whep", body_type="application/sdp"), {"output_uuid": output_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def leave_output(
        self,
        output_uuid: str,
        session: str,
        *,
        timeout: float | None = None,
    ) -> LeaveOutputAnswer:
        r"""End a session that was started with POST /output/{output_uuid}/whep."""
        return await self._send(Route("DELETE", "/output/{output_uuid}/whep/{session}"), {"output_uuid": output_uuid, "session": session}, timeout)  # type: ignore[no-any-return]

    async def publish_source(
        self,
        source_uuid: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> Answer:
        r"""Publish a media-server source by WebRTC (WHIP). The body is the publisher's SDP offer with H.264 video, the answer is the media server's SDP answer. Audio is not published. DELETE the URL in `Location` to end the stream. Send the key as `Authorization: Bearer`, as WHIP clients do, or in the header `api_key`."""
        return await self._send(Route("POST", "/source/{source_uuid}/whip", body_type="application/sdp"), {"source_uuid": source_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def unpublish_source(
        self,
        source_uuid: str,
        session: str,
        *,
        timeout: float | None = None,
    ) -> UnpublishSourceAnswer:
        r"""End a stream that was started with POST /source/{source_uuid}/whip."""
        return await self._send(Route("DELETE", "/source/{source_uuid}/whip/{session}"), {"source_uuid": source_uuid, "session": session}, timeout)  # type: ignore[no-any-return]

    async def download_recording(
        self,
        recording_uuid: str,
        index: str,
        *,
        format: Literal["mp4", "ts"] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download one segment of a recording: fragmented MP4, or MPEG-TS. The whole file, or the part selected by `Range`. While the recording continues: what has been written so far. With `format=ts` the same video as MPEG-TS, not encoded again, with the KLV metadata of the stream as a stream of its own; it is made while it is sent, without ranges. The MP4 has the metadata as event messages (MISB ST 1910)."""
        return await self._send(Route("GET", "/recording/{recording_uuid}/{index}", query=("format",)), {"recording_uuid": recording_uuid, "index": index, "format": format}, timeout)  # type: ignore[no-any-return]

    async def delete_recording(
        self,
        recording_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteRecordingAnswer:
        r"""Delete a recording that has ended, and its files."""
        return await self._send(Route("DELETE", "/recording/{recording_uuid}"), {"recording_uuid": recording_uuid}, timeout)  # type: ignore[no-any-return]

    async def get_source_hls_page(
        self,
        source_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the media-server source by HLS. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return await self._send(Route("GET", "/source/{source_uuid}/hls", query=("token", "api_key",)), {"source_uuid": source_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    async def get_source_webrtc_page(
        self,
        source_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the media-server source by WebRTC. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return await self._send(Route("GET", "/source/{source_uuid}/webrtc", query=("token", "api_key",)), {"source_uuid": source_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    async def get_output_hls_page(
        self,
        output_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the rtsp output by HLS. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return await self._send(Route("GET", "/output/{output_uuid}/hls", query=("token", "api_key",)), {"output_uuid": output_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    async def get_output_webrtc_page(
        self,
        output_uuid: str,
        *,
        token: str | None = None,
        api_key: str | None = None,
        timeout: float | None = None,
    ) -> Answer:
        r"""A page that plays the rtsp output by WebRTC. The page passes `?token=` of a signed URL, or `?api_key=`, on to the stream. Without either it shows that access is denied."""
        return await self._send(Route("GET", "/output/{output_uuid}/webrtc", query=("token", "api_key",)), {"output_uuid": output_uuid, "token": token, "api_key": api_key}, timeout)  # type: ignore[no-any-return]

    async def get_player_file(
        self,
        file: Literal["player.css"] | Literal["screen.js"] | Literal["webrtc.js"] | Literal["hls.js"] | Literal["hls-library.js"],
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""A file of the player pages."""
        return await self._send(Route("GET", "/player/{file}"), {"file": file}, timeout)  # type: ignore[no-any-return]

    async def read_tracks(
        self,
        process_uuid: str,
        *,
        format: Literal["json", "geojson", "kml", "csv"] | None = None,
        window_minutes: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["track_id", "-track_id"] | None = None,
        class_: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        zone: str | None = None,
        geo_zone: str | None = None,
        patches: bool | None = None,
        timeout: float | None = None,
    ) -> TrackReport | TrackCollection:
        r"""Get the track report of a process, or its tracks as GeoJSON, KML or CSV. For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`)."""
        return await self._send(Route("GET", "/process/{process_uuid}/tracks", query=("format", "window_minutes", "limit", "cursor", "sort", "class", "from", "to", "zone", "geo_zone", "patches",)), {"process_uuid": process_uuid, "format": format, "window_minutes": window_minutes, "limit": limit, "cursor": cursor, "sort": sort, "class": class_, "from": from_, "to": to, "zone": zone, "geo_zone": geo_zone, "patches": patches}, timeout)  # type: ignore[no-any-return]

    async def post_tracks(
        self,
        process_uuid: str,
        *,
        format: Literal["json", "geojson", "kml", "csv"] | None = None,
        window_minutes: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["track_id", "-track_id"] | None = None,
        class_: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        zone: str | None = None,
        geo_zone: str | None = None,
        patches: bool | None = None,
        timeout: float | None = None,
    ) -> TrackReport | TrackCollection:
        r"""Same as GET. For processes whose key had the track logger when they started. The report of a running process covers the last minutes (`report.window_minutes`, default 5), that of a process that has ended all of it. `limit` and `cursor` page the report by track id; without them it is complete. The answer is streamed: a long process gives a long answer, most of which is images (`patches=false` omits them). The other formats contain all tracks, independent of the window. Paths are thinned: one point per second, and one whenever the object has moved by more than two metres and by more than its position error (properties of the element `report`)."""
        return await self._send(Route("POST", "/process/{process_uuid}/tracks", query=("format", "window_minutes", "limit", "cursor", "sort", "class", "from", "to", "zone", "geo_zone", "patches",)), {"process_uuid": process_uuid, "format": format, "window_minutes": window_minutes, "limit": limit, "cursor": cursor, "sort": sort, "class": class_, "from": from_, "to": to, "zone": zone, "geo_zone": geo_zone, "patches": patches}, timeout)  # type: ignore[no-any-return]

    async def delete_tracks(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeletedReport:
        r"""Delete the track report of a process. Deletes the tracks with their paths and images. A process that has ended then has no report. The report of a running process continues with new detections; objects that are still visible appear in it again."""
        return await self._send(Route("DELETE", "/process/{process_uuid}/tracks"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def list_tracked_processes(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "finished_at", "-finished_at"] | None = None,
        source_uuid: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        timeout: float | None = None,
    ) -> ListTrackedProcessesAnswer:
        r"""List your processes that have a track report. Processes whose key had the track logger when they started and whose report was not deleted; for keys with process recording, with the processed video. Tracks are kept for `report.retention_days`, also those of running processes."""
        return await self._send(Route("GET", "/tracked_processes", query=("limit", "cursor", "sort", "source_uuid", "from", "to",)), {"limit": limit, "cursor": cursor, "sort": sort, "source_uuid": source_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def enhance_tracks(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> EnhancementStarted:
        r"""Start the enhancement of the report of a finished process. Every track gets `enhanced_data`: type, colour and licence plate of vehicles, clothing colours of people, attributes of flying objects; null where the image does not show it. While an enhancement runs, another request changes nothing; after that it starts a new one. The event `enhancement-finished` or `enhancement-failed` (`GET /events`) says when it has ended. Rejected when the running processes and enhancements of the key reach its process limit. An enhancement prevents no process from starting and uses no minutes."""
        return await self._send(Route("POST", "/decorate_tracks/{process_uuid}"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_enhancement(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> EnhancementState:
        r"""Get the status of the enhancement. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results."""
        return await self._send(Route("GET", "/decorate_tracks/{process_uuid}/status"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def ask_for_enhancement(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> EnhancementState:
        r"""Get the status of the enhancement. FINISHED when every track is done; then `GET /process/{process_uuid}/tracks` shows the results."""
        return await self._send(Route("POST", "/decorate_tracks/{process_uuid}/status"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def describe_alert_type(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        timeout: float | None = None,
    ) -> AlertDescription:
        r"""Describe an alert type and its parameters. Types: `grid-density`, `flow-control`, `follow-track`, `filter-search`, `convoy`, `graph-rule`."""
        return await self._send(Route("GET", "/alert_description", query=("name", "type",)), {"name": name, "type": type}, timeout)  # type: ignore[no-any-return]

    async def preview_alert(
        self,
        *,
        body: AlertPreviewRequest,
        timeout: float | None = None,
    ) -> AlertPreview:
        r"""Show what the outputs of an alert would send. Renders a sample notification with the templates of these outputs, and rejects templates, headers and addresses that an alert would be rejected for. Nothing is sent or stored, and host names are not resolved; any valid URL or address will do."""
        return await self._send(Route("POST", "/alert_preview", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def register_alert(
        self,
        *,
        body: NewAlert,
        timeout: float | None = None,
    ) -> Alert:
        r"""Register an alert for all processes. Applies at once to every active process whose graph can evaluate it, and to every process started later. A host name that does not resolve is rejected. A host that is offline is accepted: notifications are queued for it."""
        return await self._send(Route("POST", "/alert", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def add_alert(
        self,
        uuid: str,
        *,
        body: NewAlert,
        timeout: float | None = None,
    ) -> Alert:
        r"""Add an alert to one process, by the process's uuid. The alert is deleted with its process. `GET /active/alerts` lists it, `GET /alerts` does not."""
        return await self._send(Route("POST", "/alert/{uuid}", body_type="application/json"), {"uuid": uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def read_alert(
        self,
        uuid: str,
        *,
        timeout: float | None = None,
    ) -> Alert:
        r"""Get an alert, by the alert's uuid."""
        return await self._send(Route("GET", "/alert/{uuid}"), {"uuid": uuid}, timeout)  # type: ignore[no-any-return]

    async def change_alert(
        self,
        uuid: str,
        *,
        force: bool | None = None,
        body: AlertChange,
        timeout: float | None = None,
    ) -> Alert:
        r"""Change an alert, by the alert's uuid. Omitted fields keep their values. Each of `trigger`, `region`, `filter`, `parameters` and `output` that you send replaces the old value completely and restarts the evaluation of the alert. `status` and `alias` take effect at once. Other changes are shown as `pending` and take effect at the next start of a process; with `force` they take effect at once on every running process, without a restart and without disturbing clients, outputs or tracks. A restart after a crash of a runner or of the service does not apply them. An inactive alert runs on no process and has nothing pending. A webhook that answered 410 Gone receives nothing more until you send `output` again or reactivate the alert. `force` can be in the query or in the body; the query takes precedence."""
        return await self._send(Route("PATCH", "/alert/{uuid}", query=("force",), body_type="application/json"), {"uuid": uuid, "force": force, "body": body}, timeout)  # type: ignore[no-any-return]

    async def delete_alert(
        self,
        uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteAlertAnswer:
        r"""Stop an alert on every process and delete it, by the alert's uuid. Its queued notifications are deleted too."""
        return await self._send(Route("DELETE", "/alert/{uuid}"), {"uuid": uuid}, timeout)  # type: ignore[no-any-return]

    async def list_alerts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: str | None = None,
        alias: str | None = None,
        status: Literal["active", "inactive"] | None = None,
        timeout: float | None = None,
    ) -> ListAlertsAnswer:
        r"""List your registered alerts, active and inactive."""
        return await self._send(Route("GET", "/alerts", query=("limit", "cursor", "sort", "type", "alias", "status",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "alias": alias, "status": status}, timeout)  # type: ignore[no-any-return]

    async def list_active_alerts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at", "alias", "-alias"] | None = None,
        type: str | None = None,
        alias: str | None = None,
        process_uuid: str | None = None,
        timeout: float | None = None,
    ) -> ListActiveAlertsAnswer:
        r"""List active alerts with the processes they run on. One entry for each pair of alert and process (`process_uuid`), with the configuration that runs there. Alerts of single processes are included."""
        return await self._send(Route("GET", "/active/alerts", query=("limit", "cursor", "sort", "type", "alias", "process_uuid",)), {"limit": limit, "cursor": cursor, "sort": sort, "type": type, "alias": alias, "process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def list_notices(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["timestamp", "-timestamp"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        alert: str | None = None,
        process: str | None = None,
        source: str | None = None,
        class_: str | None = None,
        reviewed: bool | None = None,
        evidence: Literal["pending", "ready", "partial", "failed", "skipped"] | None = None,
        timeout: float | None = None,
    ) -> ListNoticesAnswer:
        r"""List what your alerts have notified of. Every notice is kept for `evidence.retention_days`, also when its alert has no output, and when its alert, process or source is deleted."""
        return await self._send(Route("GET", "/notices", query=("limit", "cursor", "sort", "from", "to", "alert", "process", "source", "class", "reviewed", "evidence",)), {"limit": limit, "cursor": cursor, "sort": sort, "from": from_, "to": to, "alert": alert, "process": process, "source": source, "class": class_, "reviewed": reviewed, "evidence": evidence}, timeout)  # type: ignore[no-any-return]

    async def read_notice(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Notice:
        r"""Get a notice."""
        return await self._send(Route("GET", "/notice/{notice_uuid}"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    async def review_notice(
        self,
        notice_uuid: str,
        *,
        body: NoticeReview,
        timeout: float | None = None,
    ) -> Notice:
        r"""Mark a notice as reviewed, or comment on it. `reviewed_by` is the user of the key. An omitted field keeps its value; a comment of null is removed."""
        return await self._send(Route("PATCH", "/notice/{notice_uuid}", body_type="application/json"), {"notice_uuid": notice_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def delete_notice(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DeleteNoticeAnswer:
        r"""Delete a notice, and its evidence."""
        return await self._send(Route("DELETE", "/notice/{notice_uuid}"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    async def download_evidence_clip(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download the clip of a notice: MP4. What its alert requested (`evidence.clip`), without encoding again. Until it is complete: 409 with `Retry-After`. It is kept as long as the notice."""
        return await self._send(Route("GET", "/notice/{notice_uuid}/clip"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    async def download_evidence_snapshot(
        self,
        notice_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Download the snapshot of a notice: JPEG. The frame of the notice, without boxes: `tracks` of the notice has them. Up to 1280 pixels wide."""
        return await self._send(Route("GET", "/notice/{notice_uuid}/snapshot"), {"notice_uuid": notice_uuid}, timeout)  # type: ignore[no-any-return]

    async def subscribe(
        self,
        process_uuid: str,
        *,
        body: NewSubscription,
        timeout: float | None = None,
    ) -> CreatedSubscription:
        r"""Subscribe a URL to events of a process. Notifications are sent as JSON by POST, signed as defined by Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`. Any 2xx status accepts a notification; otherwise it is retried with backoff for ten minutes, and later notifications are queued behind it. Redirects are not followed. Delivery is at least once: a repeated notification has the same `webhook-id`. The first notification is sent at once; events within the interval are combined into the next one. While the receiver is offline the undelivered notification stays queued, and new events are combined into the next one, which is sent an interval later. Tracks that are visible when the subscription starts count as new. A subscription ends with its process: combined events are then sent at once."""
        return await self._send(Route("POST", "/subscribe/{process_uuid}", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def list_subscriptions(
        self,
        process_uuid: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at"] | None = None,
        event_type: Literal["new-tracks", "target-count"] | None = None,
        timeout: float | None = None,
    ) -> ListSubscriptionsAnswer:
        r"""List the subscriptions to a process, with their delivery status."""
        return await self._send(Route("GET", "/subscriptions/{process_uuid}", query=("limit", "cursor", "sort", "event_type",)), {"process_uuid": process_uuid, "limit": limit, "cursor": cursor, "sort": sort, "event_type": event_type}, timeout)  # type: ignore[no-any-return]

    async def unsubscribe(
        self,
        process_uuid: str,
        *,
        notification_url: str | None = None,
        event_type: Literal["new-tracks", "target-count"] | None = None,
        body: SubscriptionChoice | None = None,
        timeout: float | None = None,
    ) -> UnsubscribeAnswer:
        r"""Delete subscriptions to a process and their queued notifications. `notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence. With neither, all subscriptions to the process are deleted."""
        return await self._send(Route("DELETE", "/subscriptions/{process_uuid}", query=("notification_url", "event_type",), body_type="application/json"), {"process_uuid": process_uuid, "notification_url": notification_url, "event_type": event_type, "body": body}, timeout)  # type: ignore[no-any-return]

    async def test_subscriptions(
        self,
        process_uuid: str,
        *,
        notification_url: str | None = None,
        event_type: Literal["new-tracks", "target-count"] | None = None,
        body: SubscriptionChoice | None = None,
        timeout: float | None = None,
    ) -> TestSubscriptionsAnswer:
        r"""Send a sample to the receivers of a process and return the results. `notification_url` and `event_type` select subscriptions, in the query or in a body; the query takes precedence. With neither, all are tested. Samples are signed like notifications, carry `sample: true`, are sent once, and are not queued behind other notifications."""
        return await self._send(Route("POST", "/subscriptions/{process_uuid}/test", query=("notification_url", "event_type",), body_type="application/json"), {"process_uuid": process_uuid, "notification_url": notification_url, "event_type": event_type, "body": body}, timeout)  # type: ignore[no-any-return]

    async def list_events(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        type: str | None = None,
        process: str | None = None,
        source: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        after: int | None = None,
        timeout: float | None = None,
    ) -> ListEventsAnswer:
        r"""List what has happened, or follow it as server-sent events. Every event of streams, processes, recordings, evidence, clips, reports and quotas of this key, stored in the transaction of the change itself: each once, also when a server is killed. They are kept for 30 days (`events.retention_days`), up to 10000 of a key (`events.per_key`). With `Accept: text/event-stream` the connection stays open: events after `Last-Event-ID` (or `after`) are sent from the log, then each new one; without either, new ones only. If some of these are no longer stored, an event `gap` says which. `event:` is the type, `id:` the number, `data:` the event. A comment is sent every 20 s; a client that reads nothing for 10 s is disconnected, and continues where it was with `Last-Event-ID`. Up to 8 such connections of a key on each node. A key that is limited to sources gets the events of these sources, with their numbers in the log of the account."""
        return await self._send(Route("GET", "/events", query=("limit", "cursor", "type", "process", "source", "from", "to", "after",)), {"limit": limit, "cursor": cursor, "type": type, "process": process, "source": source, "from": from_, "to": to, "after": after}, timeout)  # type: ignore[no-any-return]

    async def subscribe_to_events(
        self,
        *,
        body: NewEventSubscription,
        timeout: float | None = None,
    ) -> EventSubscription:
        r"""Send events to a webhook or an MQTT topic. One subscription for all streams and processes of this key, from now on; `source_uuid` limits it to a source and its processes. The subscription of a key that is limited to sources sends the events of these sources (`source_uuids`), also after the key is revoked, until it is deleted. Webhooks are signed as defined by Standard Webhooks and retried like those of `POST /subscribe/{process_uuid}`; delivery is at least once and in order, and `webhook-id` is the `uuid` of the event."""
        return await self._send(Route("POST", "/events/subscriptions", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def list_event_subscriptions(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> ListEventSubscriptionsAnswer:
        r"""List your subscriptions to events, with their delivery status."""
        return await self._send(Route("GET", "/events/subscriptions", query=("limit", "cursor",)), {"limit": limit, "cursor": cursor}, timeout)  # type: ignore[no-any-return]

    async def unsubscribe_from_events(
        self,
        subscription_uuid: str,
        *,
        timeout: float | None = None,
    ) -> UnsubscribeFromEventsAnswer:
        r"""Delete a subscription to events, and what waits for its receivers."""
        return await self._send(Route("DELETE", "/events/subscription/{subscription_uuid}"), {"subscription_uuid": subscription_uuid}, timeout)  # type: ignore[no-any-return]

    async def test_event_subscription(
        self,
        subscription_uuid: str,
        *,
        timeout: float | None = None,
    ) -> TestEventSubscriptionAnswer:
        r"""Send a sample to the receivers of a subscription and return the results. The sample has `sample: true`, is sent once, and is not queued behind events."""
        return await self._send(Route("POST", "/events/subscription/{subscription_uuid}/test"), {"subscription_uuid": subscription_uuid}, timeout)  # type: ignore[no-any-return]

    async def read_map(
        self,
        *,
        timeout: float | None = None,
    ) -> MapSettings:
        r"""Get the background and the terrain shading of maps. For the map of the console and your own: raster tiles of Web Mercator with 256 × 256 pixels."""
        return await self._send(Route("GET", "/map"), {}, timeout)  # type: ignore[no-any-return]

    async def download_map_tile(
        self,
        z: str,
        x: str,
        y: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get a tile of the background: an image. If `map.tiles` is a PMTiles file; otherwise 404."""
        return await self._send(Route("GET", "/map/tiles/{z}/{x}/{y}"), {"z": z, "x": x, "y": y}, timeout)  # type: ignore[no-any-return]

    async def download_terrain_tile(
        self,
        z: str,
        x: str,
        y: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""Get a tile of the terrain shading: PNG. Black and white with transparency, lit from the north-west, from the files in `terrain.folder`; without it 404. Tiles are computed one at a time, and those of different keys alternate."""
        return await self._send(Route("GET", "/map/terrain/{z}/{x}/{y}"), {"z": z, "x": x, "y": y}, timeout)  # type: ignore[no-any-return]

    async def list_branches(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> ListBranchesAnswer:
        r"""List the attached branches of a process, and the slots that can be attached."""
        return await self._send(Route("GET", "/process/{process_uuid}/branches"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def attach_branch(
        self,
        process_uuid: str,
        *,
        body: NewBranch,
        timeout: float | None = None,
    ) -> Branch:
        r"""Attach a slot of the graph to a running process. A slot can be attached several times, each time with its own params. Branches count as active outputs of the key. They are attached again when the process is started again. Slots that the service attaches itself (`feed`, `view`, `recording`, `original`, `rtsp`, `rtmp`, `srt`, `cot`, `mqtt`, `mpegts`) are rejected, as are params that name a resource on the server."""
        return await self._send(Route("POST", "/process/{process_uuid}/branches", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def detach_branch(
        self,
        process_uuid: str,
        branch_uuid: str,
        *,
        timeout: float | None = None,
    ) -> DetachBranchAnswer:
        r"""Detach a branch from a process. Answers when the branch has ended and its files are complete."""
        return await self._send(Route("DELETE", "/process/{process_uuid}/branches/{branch_uuid}"), {"process_uuid": process_uuid, "branch_uuid": branch_uuid}, timeout)  # type: ignore[no-any-return]

    async def start_shadow(
        self,
        process_uuid: str,
        *,
        body: StartShadowBody,
        timeout: float | None = None,
    ) -> Shadow:
        r"""Run a variant of the graph beside a running process. Shows how another graph, version or param would behave on the live source, without touching the process. The shadow is a second runner on the same source, at a low priority. It has no outputs, alerts, webhooks, recordings, reports or stored detections: its detections are only compared with those of the process, frame by frame. Its graph may use elements whose `can_try` is true (`GET /elements/{name}`). It counts as a process of the key, uses its minutes, and ends after `seconds` or `frames`, or with the process. A process has one shadow at a time. Files that loop cannot have one: the second runner would be at another position."""
        return await self._send(Route("POST", "/process/{process_uuid}/shadow", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def get_shadow(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Shadow:
        r"""Get the shadow of a process, with the comparison so far."""
        return await self._send(Route("GET", "/process/{process_uuid}/shadow"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def stop_shadow(
        self,
        process_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Shadow:
        r"""End the shadow of a process."""
        return await self._send(Route("DELETE", "/process/{process_uuid}/shadow"), {"process_uuid": process_uuid}, timeout)  # type: ignore[no-any-return]

    async def list_graphs(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["name", "-name"] | None = None,
        origin: Literal["installed", "own"] | None = None,
        timeout: float | None = None,
    ) -> ListGraphsAnswer:
        r"""List the graphs: installed ones and your own. An own graph is listed with its current version, as compiled when it was stored."""
        return await self._send(Route("GET", "/graphs", query=("limit", "cursor", "sort", "origin",)), {"limit": limit, "cursor": cursor, "sort": sort, "origin": origin}, timeout)  # type: ignore[no-any-return]

    async def get_graph(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> Graph:
        r"""Get a graph: its params, its YAML and the compiled pipeline."""
        return await self._send(Route("GET", "/graphs/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    async def store_graph(
        self,
        name: str,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> GraphVersion:
        r"""Store a graph of your own. The graph as YAML, or as JSON: `{"yaml": "…"}`; its `graph` is the name in the path. Requires a key with the flag `graph_author`. It can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. A graph with faults is rejected with all of them, each with its line and column. Every new text is a new version, and becomes the current one; versions never change. Names of installed graphs cannot be used. The operator limits the number of graphs and versions, and the size of a text."""
        return await self._send(Route("PUT", "/graphs/{name}", body_type="application/yaml"), {"name": name, "body": body}, timeout)  # type: ignore[no-any-return]

    async def delete_graph(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> DeleteGraphAnswer:
        r"""Delete a graph of your own, with all its versions."""
        return await self._send(Route("DELETE", "/graphs/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    async def list_graph_versions(
        self,
        name: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["created_at", "-created_at"] | None = None,
        timeout: float | None = None,
    ) -> ListGraphVersionsAnswer:
        r"""List the versions of a graph of your own."""
        return await self._send(Route("GET", "/graphs/{name}/versions", query=("limit", "cursor", "sort",)), {"name": name, "limit": limit, "cursor": cursor, "sort": sort}, timeout)  # type: ignore[no-any-return]

    async def get_graph_version(
        self,
        name: str,
        version: str,
        *,
        timeout: float | None = None,
    ) -> Graph:
        r"""Get one version of a graph of your own."""
        return await self._send(Route("GET", "/graphs/{name}/versions/{version}"), {"name": name, "version": version}, timeout)  # type: ignore[no-any-return]

    async def validate_graph(
        self,
        *,
        body: str | bytes,
        timeout: float | None = None,
    ) -> GraphValidation:
        r"""Validate a graph. The graph as YAML, or as JSON: `{"yaml": "…"}`. It is neither run nor stored."""
        return await self._send(Route("POST", "/graphs/validate", body_type="application/yaml"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def list_elements(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        find: str | None = None,
        timeout: float | None = None,
    ) -> ListElementsAnswer:
        r"""List the elements that graphs can use."""
        return await self._send(Route("GET", "/elements", query=("limit", "cursor", "find",)), {"limit": limit, "cursor": cursor, "find": find}, timeout)  # type: ignore[no-any-return]

    async def get_element(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> Element:
        r"""Get everything about one element, as printed by `windhover inspect`."""
        return await self._send(Route("GET", "/elements/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    async def test_graph(
        self,
        name: str,
        *,
        body: TestGraphBody | None = None,
        timeout: float | None = None,
    ) -> GraphTestReport:
        r"""Run the tests of a graph. Requires a key with the flag `graph_author`. Runs `tests:` of a graph of your own, or of an installed one, one after the other, and answers when all have ended. `clip` of a test is `source:ALIAS` or `source:UUID`, a video that you have uploaded, or `test:PATTERN?frames=N`; tests of installed graphs can also name files beside the graph. Tests run at pace `fast`, up to 60 seconds each unless the operator has set another limit, with the elements of `POST /graphs/try`. Nothing is stored, and no alert is sent. A key runs its tests once at a time. Closing the connection cancels them."""
        return await self._send(Route("POST", "/graphs/{name}/test", body_type="application/json"), {"name": name, "body": body}, timeout)  # type: ignore[no-any-return]

    async def list_models(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort: Literal["name", "-name"] | None = None,
        origin: Literal["installed", "own"] | None = None,
        timeout: float | None = None,
    ) -> ListModelsAnswer:
        r"""List the models: installed ones and your own."""
        return await self._send(Route("GET", "/models", query=("limit", "cursor", "sort", "origin",)), {"limit": limit, "cursor": cursor, "sort": sort, "origin": origin}, timeout)  # type: ignore[no-any-return]

    async def upload_model(
        self,
        *,
        body: Form,
        timeout: float | None = None,
    ) -> Model:
        r"""Upload a model of your own. A form with the ONNX file in the part `file`, and its card (YAML, as of `windhover models show NAME`) in the part `card`. Requires a key with the flag `graph_author`. The card and the network are checked, and the network is run on one image, in a process with limits. Graphs of this key name the model as `detect: { model: NAME }`, and `detect` takes it as the param `model`. The same model again is not stored again."""
        return await self._send(Route("POST", "/models", body_type="multipart/form-data"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def delete_model(
        self,
        name: str,
        *,
        timeout: float | None = None,
    ) -> DeleteModelAnswer:
        r"""Delete a model of your own."""
        return await self._send(Route("DELETE", "/models/{name}"), {"name": name}, timeout)  # type: ignore[no-any-return]

    async def try_graph(
        self,
        *,
        body: TryGraphBody,
        timeout: float | None = None,
    ) -> StartedProcess:
        r"""Run your own graph for a minute. Requires a key with the flag `graph_author`. The graph can use elements whose `can_try` is true (`GET /elements/{name}`); slots with other elements are left out. The process ends after 60 seconds."""
        return await self._send(Route("POST", "/graphs/try", body_type="application/json"), {"body": body}, timeout)  # type: ignore[no-any-return]

    async def get_process_graph(
        self,
        process_uuid: str,
        *,
        format: Literal["json", "dot", "mermaid", "launch"] | None = None,
        timeout: float | None = None,
    ) -> ProcessGraph:
        r"""Get the running graph of a process."""
        return await self._send(Route("GET", "/process/{process_uuid}/graph", query=("format",)), {"process_uuid": process_uuid, "format": format}, timeout)  # type: ignore[no-any-return]

    async def set_process_graph(
        self,
        process_uuid: str,
        *,
        body: dict[str, dict[str, Any]],
        timeout: float | None = None,
    ) -> SetProcessGraphAnswer:
        r"""Set live properties and params of a running graph. Values by node and property: `{"detect": {"confidence": 0.5}}`. `{"params": {"confidence": 0.5}}` sets params of the graph, and every property that uses them (in a graph with a node named `params` it addresses that node). The latest change of a property wins, also after a restart. All values are set or none; a property that is not mutable while PLAYING is rejected with 422 and the reason. `live_params` of `GET` lists the params that can be set."""
        return await self._send(Route("PATCH", "/process/{process_uuid}/graph", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def upgrade_process_graph(
        self,
        process_uuid: str,
        *,
        body: UpgradeProcessGraphBody,
        timeout: float | None = None,
    ) -> ProcessUpgrade:
        r"""Change a running process to another version of its graph. For a process of a graph of your own. Answers with the differences, each labelled: `live` (a property is set without interruption), `branch` (a branch is attached or detached), `relaunch` (the pipeline is restarted; a file continues at its position, track ids continue). With `dry_run` nothing is changed. Otherwise it answers when the version runs. If it does not, the process continues with the version before, and the answer has the reason. Roll back with the previous version. Params that were given keep their values, others get the defaults of the version. Values set with `PATCH` stay where the version has the same node and property. A version without a slot that an output or branch uses is rejected."""
        return await self._send(Route("POST", "/process/{process_uuid}/graph", body_type="application/json"), {"process_uuid": process_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def get_process_graph_edge(
        self,
        process_uuid: str,
        *,
        from_: str,
        to: str,
        timeout: float | None = None,
    ) -> ProcessGraphEdge:
        r"""See the next frame between two nodes of a running graph. Answers with the next buffer that passes the edge: a picture if it is raw video, as it is there, and the metadata of the frame. Of encoded video it answers only the caps. The stream neither waits nor loses a frame, and nothing is measured while no one asks. Requests for one edge within a fifth of a second get the same frame."""
        return await self._send(Route("GET", "/process/{process_uuid}/graph/edge", query=("from", "to",)), {"process_uuid": process_uuid, "from": from_, "to": to}, timeout)  # type: ignore[no-any-return]

    async def get_console(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return await self._send(Route("GET", "/console"), {}, timeout)  # type: ignore[no-any-return]

    async def get_console_page(
        self,
        page: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return await self._send(Route("GET", "/console/{page}"), {"page": page}, timeout)  # type: ignore[no-any-return]

    async def get_console_thing(
        self,
        page: str,
        thing: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return await self._send(Route("GET", "/console/{page}/{thing}"), {"page": page, "thing": thing}, timeout)  # type: ignore[no-any-return]

    async def get_console_part(
        self,
        page: str,
        thing: str,
        part: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""The operator's console."""
        return await self._send(Route("GET", "/console/{page}/{thing}/{part}"), {"page": page, "thing": thing, "part": part}, timeout)  # type: ignore[no-any-return]

    async def get_console_asset(
        self,
        file: str,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""A file of the operator's console."""
        return await self._send(Route("GET", "/console/assets/{file}"), {"file": file}, timeout)  # type: ignore[no-any-return]

    async def read_demo(
        self,
        *,
        timeout: float | None = None,
    ) -> DemoState:
        r"""Get the state of the demo. Requires an operator key."""
        return await self._send(Route("GET", "/demo"), {}, timeout)  # type: ignore[no-any-return]

    async def start_demo(
        self,
        *,
        timeout: float | None = None,
    ) -> RunningDemo:
        r"""Start the demo. Registers a clip of a street as the source `Demo: street`, which is played in a loop like a camera, and starts a process with the graph `detect` on it. Answers when the process runs. The first time, the clip is downloaded (a few megabytes, from Debian's package `opencv-doc`) and converted, which takes a while; `GET /demo` shows the progress. Parts that already run are left unchanged. Requires an operator key."""
        return await self._send(Route("POST", "/demo"), {}, timeout)  # type: ignore[no-any-return]

    async def stop_demo(
        self,
        *,
        timeout: float | None = None,
    ) -> StopDemoAnswer:
        r"""Stop the demo. Stops its process and all other processes on its source, and deletes the source. The clip stays in the cache. Requires an operator key."""
        return await self._send(Route("DELETE", "/demo"), {}, timeout)  # type: ignore[no-any-return]

    async def list_nodes(
        self,
        *,
        timeout: float | None = None,
    ) -> NodeListing:
        r"""List the nodes of the service. One, unless several machines share a database. Requires an operator key."""
        return await self._send(Route("GET", "/nodes"), {}, timeout)  # type: ignore[no-any-return]

    async def drain_node(
        self,
        node_uuid: str,
        *,
        body: DrainNode | None = None,
        timeout: float | None = None,
    ) -> Node:
        r"""Drain a node. It takes no more processes and hands its own over to other nodes, one after the other. It stays drained until it is restarted or `DELETE` ends it. Requires an operator key."""
        return await self._send(Route("POST", "/nodes/{node_uuid}/drain", body_type="application/json"), {"node_uuid": node_uuid, "body": body}, timeout)  # type: ignore[no-any-return]

    async def undrain_node(
        self,
        node_uuid: str,
        *,
        timeout: float | None = None,
    ) -> Node:
        r"""End the draining of a node. It takes processes again. Those that it has handed over stay where they are. Requires an operator key."""
        return await self._send(Route("DELETE", "/nodes/{node_uuid}/drain"), {"node_uuid": node_uuid}, timeout)  # type: ignore[no-any-return]

    async def is_alive(
        self,
        *,
        timeout: float | None = None,
    ) -> Probe:
        r"""Whether the server runs. For liveness probes: it does not depend on the database. Needs no key."""
        return await self._send(Route("GET", "/healthz"), {}, timeout)  # type: ignore[no-any-return]

    async def is_ready(
        self,
        *,
        timeout: float | None = None,
    ) -> Probe:
        r"""Whether the server takes requests. For load balancers: 503 while the database cannot be reached, the node drains or the service shuts down. Needs no key."""
        return await self._send(Route("GET", "/readyz"), {}, timeout)  # type: ignore[no-any-return]

    async def read_metrics(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        r"""Metrics for Prometheus. Frames, latency, drops, inference and memory of every process; streams, players and memory of the media hub; jitter, round trip and loss of every published stream; notifications and their delivery; stored detections; the nodes, their reserved cores and processes without room; requests by route; health of the components. Requires an operator key (the first key, or one created with `keys create --operator`), in the header `api_key`, as `Authorization: Bearer` or as `?api_key=`, unless `http.metrics_open` is set."""
        return await self._send(Route("GET", "/metrics"), {}, timeout)  # type: ignore[no-any-return]

    async def get_open_api(
        self,
        *,
        timeout: float | None = None,
    ) -> GetOpenApiAnswer:
        r"""This document."""
        return await self._send(Route("GET", "/openapi.json"), {}, timeout)  # type: ignore[no-any-return]

    async def get_async_api(
        self,
        *,
        timeout: float | None = None,
    ) -> GetAsyncApiAnswer:
        r"""The messages of websockets, server-sent events, webhooks and MQTT topics."""
        return await self._send(Route("GET", "/asyncapi.json"), {}, timeout)  # type: ignore[no-any-return]

    async def get_overview(
        self,
        *,
        timeout: float | None = None,
    ) -> str:
        r"""The API in one page of text, for programs that read text."""
        return await self._send(Route("GET", "/llms.txt"), {}, timeout)  # type: ignore[no-any-return]

    async def get_docs(
        self,
        *,
        timeout: float | None = None,
    ) -> Answer:
        r"""This document as an interactive page."""
        return await self._send(Route("GET", "/docs"), {}, timeout)  # type: ignore[no-any-return]
