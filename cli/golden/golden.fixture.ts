import type { GoldenHeader, RecordedModel } from "./golden.ts";

export const header = (part: Partial<GoldenHeader> = {}, model: Partial<RecordedModel> = {}): GoldenHeader => ({
  golden: 2,
  windhover: "0.1.0",
  machine: "arm64",
  graph: "detect",
  params: { confidence: null, classes: ["person"] },
  frames: 60,
  clip: { name: "yard.mp4", sha256: "a".repeat(64) },
  models: [
    {
      node: "detect",
      name: "default",
      sha256: "b".repeat(64),
      network: "c".repeat(64),
      confidence: 0.4,
      weak: 0.1,
      ...model,
    },
  ],
  ...part,
});
