import type { Command } from "../command.ts";
import { runReplay } from "../replay/run-replay.ts";
import { REPLAY_OPTIONS, readSettings } from "../replay/settings.ts";

export default {
  name: "replay",
  about: "Run alerts and webhooks on a recording, faster than real time, and show what they would have sent.",
  usage: "CLIP --alerts FILE [--subscriptions FILE] [param=value…] [option…]",
  options: REPLAY_OPTIONS,
  notes: [
    "Nothing is sent; the output names the destinations. All times are stream times: nothing reads the clock, and the same recording always gives the same lines, ids included. Each body in a file can be posted to the API as it is, and a response of the API can be replayed as it is. Faults are those that the API would report, with line and column.",
    "On a terminal each notification is a line, with a table at the end. Elsewhere, and with --json, each is a line of JSON: clip_seconds, alert or subscription, to, and the body. The uuids of process and source are all zeros, and webhooks have no id.",
    "For quick tuning use --from: record the detection messages once (`windhover run detect CLIP > seen.ndjson`), then replay them. The result may differ from that of the clip, because messages contain less than frames: the age of a track counts from its first message (min_track_age_seconds), objects hidden for up to 0.1 s count as seen at their predicted position, a track ends two seconds after its last message, and there are no images.",
    "The intervals of webhook notifications use stream time; in the service they use the clock, which includes the inference time. A live process that is too slow for its camera infers fewer frames than a replay, which infers all.",
    "Ctrl-C stops the replay and prints the summary so far; a second Ctrl-C aborts. Exit codes: 0 success, 1 failure, 2 invalid file, graph or command line.",
  ].join("\n"),
  examples: [
    "replay yesterday.mp4 --alerts alerts.yaml",
    "replay yesterday.mp4 --alerts alerts.yaml --start-at 2026-11-14T09:00:00Z --svg when.svg",
    "replay flight.mp4 --telemetry flight.ndjson --alerts fence.yaml --patches found/",
    "replay clip.mp4 --graph ./yard.yaml model=quality --alerts alerts.yaml --json > sent.ndjson",
    "replay --from seen.ndjson --alerts alerts.yaml --subscriptions webhooks.yaml",
  ],
  run: (given, terminal) => runReplay(readSettings(given), terminal),
} satisfies Command;
