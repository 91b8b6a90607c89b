/** Graphs and the elements they are made of. */
import { type Static, Type } from "typebox";
import { listing, PageQuery, Uuid } from "./records.ts";

const JsonSchema = Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema." });

export const GraphName = Type.String({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$" });

export const GraphFault = Type.Object(
  {
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1 }),
    file: Type.Union([Type.String(), Type.Null()], {
      description: "Of a graph that it extends; null for its own text.",
    }),
    code: Type.String({ description: "A stable word, for programs." }),
    message: Type.String({ description: "What was found." }),
    expected: Type.Optional(Type.String({ description: "What would have been right." })),
    suggestion: Type.Optional(Type.String({ description: "The nearest right name." })),
  },
  { title: "GraphFault" },
);

const summary = {
  name: GraphName,
  about: Type.String(),
  params: Type.Unsafe<Record<string, unknown>>({
    ...JsonSchema,
    description: "JSON Schema of `params` of `POST /start`.",
  }),
  reserved_params: Type.Array(Type.String(), {
    description: "Params that would name something on the server: clients cannot set them.",
  }),
  can_start: Type.Boolean({ description: "False when it needs a reserved param, or is not valid." }),
  offers: Type.Array(Type.String(), { description: "What a process of it can be asked for, names of slots included." }),
  slots: Type.Record(Type.String(), JsonSchema, {
    description: "What can be attached while it runs, with its params.",
  }),
};

export const GraphSummary = Type.Object(summary, { title: "GraphSummary" });
export type GraphSummary = Static<typeof GraphSummary>;

const PipelineNode = Type.Object({
  name: Type.String(),
  step: Type.String({ description: "Name of the step that it comes from." }),
  element: Type.String(),
  kind: Type.Enum(["native", "typescript"]),
  factory: Type.String(),
  properties: Type.Record(Type.String(), Type.Unknown()),
});

const PipelineLink = Type.Object({
  from: Type.String(),
  from_pad: Type.Optional(Type.String()),
  to: Type.String(),
  to_pad: Type.Optional(Type.String()),
  caps: Type.Optional(Type.String()),
});

export const Pipeline = Type.Object(
  {
    segments: Type.Array(
      Type.Object({
        name: Type.String(),
        tee: Type.Union([Type.String(), Type.Null()], { description: "What it hangs on; null for the main one." }),
        nodes: Type.Array(PipelineNode),
        links: Type.Array(PipelineLink),
      }),
    ),
    launch: Type.String({ description: "Its native part as a gst-launch line." }),
  },
  { title: "Pipeline" },
);
export type Pipeline = Static<typeof Pipeline>;

export const GraphRecord = Type.Object(
  {
    ...summary,
    yaml: Type.String(),
    pipeline: Type.Union([Pipeline, Type.Null()], { description: "Compiled for a file; null when it is not valid." }),
    faults: Type.Array(GraphFault),
  },
  { title: "Graph" },
);
export type GraphRecord = Static<typeof GraphRecord>;

export const GraphListing = listing({ graphs: Type.Array(GraphSummary) });

export const ValidateBody = Type.Object({ yaml: Type.String({ description: "The graph." }) });

export const Validation = Type.Object(
  { valid: Type.Boolean(), faults: Type.Array(GraphFault) },
  { title: "GraphValidation" },
);
export type Validation = Static<typeof Validation>;

export const TryBody = Type.Object({
  yaml: Type.String({
    ...{ minLength: 1, maxLength: 1_048_576 },
    description: "The graph, of elements that are on the allow-list.",
  }),
  source_uuid: Uuid,
  params: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "Values of the graph's params." })),
});

const ElementProperty = Type.Object({
  name: Type.String(),
  type: Type.String({ description: "In words." }),
  default: Type.Optional(Type.Unknown()),
  required: Type.Boolean(),
  live: Type.Boolean({ description: "It may change while the graph runs." }),
  read_only: Type.Boolean(),
  deprecated: Type.Boolean(),
  about: Type.String(),
  choices: Type.Array(Type.Object({ name: Type.String(), about: Type.String() })),
});
export type ElementProperty = Static<typeof ElementProperty>;

export const ElementSummary = Type.Object(
  { name: Type.String(), plugin: Type.String({ description: "`windhover` for our own." }), about: Type.String() },
  { title: "ElementSummary" },
);

export const ElementListing = listing({ elements: Type.Array(ElementSummary) });

export const ElementsQuery = Type.Object({
  ...PageQuery.properties,
  find: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        "Only those with this in the name, plugin or description of the element or of one of its properties.",
    }),
  ),
});

export const ElementRecord = Type.Object(
  {
    name: Type.String(),
    plugin: Type.String(),
    about: Type.String(),
    kind: Type.Enum(["transform", "sink", "composite", "native"]),
    can_try: Type.Boolean({ description: "It may stand in a graph that is tried." }),
    caps: Type.Union([Type.String(), Type.Null()], { description: "Of our own: what it takes." }),
    reads: Type.Array(Type.Unknown(), { description: "Metadata that it reads." }),
    writes: Type.Array(Type.String(), { description: "Metadata that it writes." }),
    example: Type.Union([Type.String(), Type.Null()]),
    class: Type.Union([Type.String(), Type.Null()], { description: "Of GStreamer's: its class." }),
    rank: Type.Union([Type.Integer(), Type.Null()]),
    pads: Type.Array(
      Type.Object({
        name: Type.String(),
        direction: Type.Enum(["sink", "src"]),
        presence: Type.Enum(["always", "sometimes", "request"]),
        caps: Type.String(),
      }),
    ),
    properties: Type.Array(ElementProperty),
  },
  { title: "Element" },
);
export type ElementRecord = Static<typeof ElementRecord>;

const StepCounters = Type.Object({
  step: Type.String(),
  frames: Type.Number(),
  fps: Type.Number(),
  mean_ms: Type.Number(),
  p95_ms: Type.Number(),
  queued: Type.Union([Type.Number(), Type.Null()]),
  capacity: Type.Union([Type.Number(), Type.Null()]),
  dropped: Type.Union([Type.Number(), Type.Null()]),
});

/** The graph as it runs, attached slots included. */
export const ProcessGraph = Type.Object(
  {
    graph: Type.String(),
    about: Type.String(),
    params: Type.Record(Type.String(), Type.Unknown()),
    live_params: Type.Array(Type.String()),
    offers: Type.Array(Type.String()),
    slots: Type.Array(Type.String()),
    segments: Type.Array(
      Type.Object({
        name: Type.String(),
        tee: Type.Union([Type.String(), Type.Null()]),
        nodes: Type.Array(PipelineNode),
        links: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
        steps: Type.Array(StepCounters, { description: "What went through each step so far." }),
      }),
    ),
  },
  { title: "ProcessGraph" },
);
export type ProcessGraph = Static<typeof ProcessGraph>;

export const ProcessGraphQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(["json", "dot", "mermaid", "launch"], { description: "`json` unless said otherwise." }),
  ),
});

/** `{"detect": {"confidence": 0.5}}`, or `{"params": {"confidence": 0.5}}` */
export const LiveProperties = Type.Record(
  Type.String({ minLength: 1, maxLength: 128 }),
  Type.Record(Type.String({ minLength: 1, maxLength: 128 }), Type.Unknown(), { minProperties: 1 }),
  {
    minProperties: 1,
    maxProperties: 1000,
    description: "Values by property, by node; `params` for those of the graph.",
  },
);

export const LivePropertiesSet = Type.Object({ uuid: Uuid, process_uuid: Uuid, set: LiveProperties });
