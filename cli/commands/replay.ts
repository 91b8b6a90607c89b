import type { Command } from "../command.ts";
import { runReplay } from "../replay/run-replay.ts";
import { REPLAY_OPTIONS, readSettings } from "../replay/settings.ts";

export default {
  name: "replay",
  about: "Runs alerts and webhooks over a recording, faster than it was, and shows what they would have sent.",
  usage: "CLIP --alerts FILE [--subscriptions FILE] [param=value…] [option…]",
  options: REPLAY_OPTIONS,
  notes: [
    "Nothing is sent: where it would have gone is named. Time is that of the pictures; nothing reads the clock, and the same recording gives the same lines, ids included. Each body in a file can be posted as it is, and an answer of the service be replayed as it is; faults are those that the service would find, with line and column.",
    "On a terminal each sending is a line, with a table at the end. Elsewhere, and with --json, each is a line of JSON: clip_seconds, alert or subscription, to, and the body as it is sent. The process and the source are all zeros, and webhooks have no id.",
    "Tuning is quick with --from: record once what is seen (`windhover run detect CLIP > seen.ndjson`), then replay that. It may differ from the clip where messages say less than frames: tracks are as old as they have been told of (min_track_age_seconds), objects hidden for a tenth of a second count as seen where they should be, a track ends two seconds after it was last told of, and there are no pictures.",
    "Notifications of webhooks are spaced by the time of the pictures; in the service by that of the clock, which is later by as long as looking takes. A live process that is too slow for its camera looks at fewer frames than a replay, which looks at all.",
    "Ctrl-C ends it, with the summary so far; a second one cuts it off. Exit codes: 0 ended, 1 failed, 2 bad file, graph or command line.",
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
