import type { Registry } from "../../schemas/registry.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type ExpandedNode, ExpandFault, type Expansion, type SourceBinding } from "../element.ts";
import type { FileSource, SourceDescription, TestSource } from "./uri.ts";

type Pace = SourceBinding["pace"];

/** What a demuxer or depayloader may give that is video: the other streams of a file or camera stay unlinked. */
export const VIDEO_CAPS = [
  "video/x-raw",
  "video/x-h264",
  "video/x-h265",
  "video/x-av1",
  "video/x-vp8",
  "video/x-vp9",
  "video/mpeg",
  "video/x-h263",
  "video/x-msmpeg",
  "video/x-divx",
  "video/x-xvid",
  "video/x-wmv",
  "video/x-theora",
  "video/x-prores",
  "video/x-dnxhd",
  "video/x-dv",
  "image/jpeg",
  "image/png",
].join(";");

export function expandSource(
  source: SourceDescription,
  { pace, demuxer }: Pick<SourceBinding, "pace" | "demuxer">,
  registry: Registry,
): Expansion {
  switch (source.kind) {
    case "file":
      return expandFile(source, pace, demuxer);
    case "test":
      return expandTest(source, pace, registry);
    case "live":
      if (pace === "fast")
        throw new ExpandFault("pace", `${source.display} is live and has a pace of its own: leave pace out`);
      return expandLive();
  }
}

function expandFile({ path }: FileSource, pace: Pace, demuxer: string | undefined): Expansion {
  const known: ExpandedNode[] =
    demuxer === undefined ? [] : [{ suffix: "demux", factory: demuxer, properties: {}, onward: VIDEO_CAPS }];
  return {
    nodes: [
      { suffix: "file", factory: "filesrc", properties: { location: path } },
      ...known,
      { suffix: "parse", factory: "parsebin", properties: {}, onward: VIDEO_CAPS },
      ...expandPace(pace),
    ],
  };
}

function expandTest(picture: TestSource, pace: Pace, registry: Registry): Expansion {
  checkPattern(picture.pattern, registry);
  const { pattern, width, height, framerate, frames } = picture;
  return {
    nodes: [
      {
        suffix: "test",
        factory: "videotestsrc",
        properties: { pattern, ...(frames === null ? {} : { "num-buffers": frames }) },
      },
      {
        suffix: "format",
        factory: "capsfilter",
        properties: { caps: `video/x-raw,format=I420,width=${width},height=${height},framerate=${framerate}` },
      },
      ...expandPace(pace),
    ],
  };
}

/**
 * Fed by the reconnecting ingest, whose relay bounds what is queued here: only it can drop whole groups of pictures. With
 * limits of its own the appsrc would drop single access units, and what follows them would be decoded damaged.
 */
function expandLive(): Expansion {
  return {
    nodes: [
      {
        suffix: "in",
        factory: "appsrc",
        properties: {
          "is-live": true,
          format: "time",
          "do-timestamp": false,
          block: false,
          "max-time": 0,
          "max-bytes": 0,
          "max-buffers": 0,
        },
      },
    ],
  };
}

/** Pacing happens here alone: every sink takes what comes, when it comes. */
const expandPace = (pace: Pace): readonly ExpandedNode[] =>
  pace === "realtime" ? [{ suffix: "pace", factory: "clocksync", properties: {} }] : [];

function checkPattern(pattern: string, registry: Registry): void {
  const known = registry.get("videotestsrc")?.properties.pattern?.values?.map(({ nick }) => nick);
  if (known === undefined || known.includes(pattern)) return;
  throw new ExpandFault(
    "uri",
    `there is no test pattern "${pattern}"; expected one of ${known.join(", ")}${didYouMean(pattern, known)}`,
  );
}
