/** A process that exits with code 5 during inference. */
import { makeLightModel } from "./detect.fixture.ts";
import { Inference } from "./inference.ts";

const inference = await Inference.start({
  model: makeLightModel({ work: 1_000 }),
  threads: 1,
  providers: ["cpu"],
  slots: 1,
  onFailure: "keep",
  startLimitMs: 20_000,
  limitMs: () => 10_000,
  onEvent: () => {},
});
for (let order = 0; order < 20; order++) inference.infer(0, 0.5, 0.5).catch(() => {});
setTimeout(() => process.exit(5), inference.inferenceMs / 2);
