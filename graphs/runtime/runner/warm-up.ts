/** Does once, before anybody waits, what every start would do first. */
import type { RunnerJob } from "../../../schemas/runner.ts";
import { compileJob, type Knowledge } from "./compile-job.ts";

const USUAL: RunnerJob = {
  uuid: "",
  graph: "detect",
  graphText: null,
  params: {},
  sourceUri: "/video.mp4",
  positionNs: "0",
  firstTrackId: 1,
  attach: [],
  giveUpSeconds: 1,
};

/** Validators are made and GStreamer's elements described when a graph first needs them: the usual one needs most. */
export function warmUp(knowledge: Knowledge): void {
  const { slot } = compileJob(USUAL, knowledge);
  slot("feed", "warm", {});
}
