/** Tests of graphs: the numbers of a run that they expect, and their results, in the command line and in the API. */
import { type Static, Type } from "typebox";
import { AlertEventName } from "./alerts.ts";
import { orNull } from "./api/records.ts";

/** A number of a run that a test expects. */
export const Metric = Type.Union([
  Type.Object({ kind: Type.Enum(["frames", "messages", "fps_ratio"]) }),
  Type.Object({ kind: Type.Enum(["detections", "tracks"]), className: orNull(Type.String()) }),
  Type.Object({ kind: Type.Literal("counts"), name: Type.String() }),
  Type.Object({ kind: Type.Literal("alerts"), alias: orNull(Type.String()), event: orNull(AlertEventName) }),
]);
export type Metric = Static<typeof Metric>;

/** In the graph file. */
const place = {
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1 }),
};

export const TestNumber = Type.Object(
  {
    key: Type.String({ description: "As written in `expect`: `tracks.person`." }),
    found: Type.Number(),
    expected: Type.String({ description: "As written: `3..5`." }),
    passed: Type.Boolean(),
    ...place,
  },
  { title: "GraphTestNumber" },
);
export type TestNumber = Static<typeof TestNumber>;

export const TestFailure = Type.Object(
  { message: Type.String({ description: "What was found and what was expected, or why the run failed." }), ...place },
  { title: "GraphTestFailure" },
);
export type TestFailure = Static<typeof TestFailure>;

export const TestResult = Type.Object(
  {
    name: Type.String(),
    passed: Type.Boolean(),
    seconds: Type.Number({ minimum: 0 }),
    numbers: Type.Array(TestNumber, { description: "Every expected number; empty if the run failed." }),
    failures: Type.Array(TestFailure, { description: "Empty for a test that passed." }),
  },
  { title: "GraphTestResult" },
);
export type TestResult = Static<typeof TestResult>;
