/** Graphs and elements. */
import { type Static, Type } from "typebox";
import { TestResult } from "../graph-tests.ts";
import { GraphChange } from "../runner.ts";
import { jsonObject, listing, listQuery, orNull, PageQuery, Timestamp, Uuid } from "./records.ts";

const JsonSchema = jsonObject("JSON Schema.");

export const GraphName = Type.String({ minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$" });

const GraphPosition = {
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1 }),
  file: orNull(Type.String(), {
    description: "The graph file that contains it: one that is extended, or has a part; null for the graph's own text.",
  }),
};

export const GraphFault = Type.Object(
  {
    ...GraphPosition,
    used_at: Type.Optional(
      Type.Object(GraphPosition, { description: "Of a fault in a part: where a chain or slot uses the part." }),
    ),
    code: Type.String({ description: "Stable error code." }),
    message: Type.String({ description: "Description of the fault." }),
    expected: Type.Optional(Type.String({ description: "The expected value." })),
    suggestion: Type.Optional(Type.String({ description: "The closest valid name." })),
  },
  { title: "GraphFault" },
);

const VERSION_RANGE = { minimum: 1, maximum: 999_999_999 };
export const VersionNumber = Type.Integer(VERSION_RANGE);

/** In a path, where parameters are texts. */
export const VersionText = Type.String({ pattern: "^[1-9][0-9]{0,8}$" });

const version = {
  version: VersionNumber,
  digest: Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of its text." }),
  author: Type.String({ description: "Name of the key that stored it." }),
  created_at: Timestamp,
};

export const GraphVersion = Type.Object(
  {
    name: GraphName,
    ...version,
    is_current: Type.Boolean({ description: "Processes start with this version by default." }),
    bases: orNull(
      Type.Array(
        Type.Object({
          name: GraphName,
          digest: Type.String({
            pattern: "^[0-9a-f]{64}$",
            description: "SHA-256 of its text, and of those that it is made of, when the version was stored.",
          }),
          has_changed: Type.Boolean({
            description:
              "The installed graph has changed since, or was uninstalled: the version may compile to something else. Store its text again to accept the change.",
          }),
        }),
      ),
      { description: "Installed graphs that it extends or uses parts of; null: stored before these were recorded." },
    ),
  },
  { title: "GraphVersion" },
);
export type GraphVersion = Static<typeof GraphVersion>;

export const GraphVersionQuery = listQuery(["created_at"], {});

export const GraphVersionListing = listing({ versions: Type.Array(GraphVersion) });

export const DeletedGraph = Type.Object({ deleted: Type.Literal(true), name: GraphName });

export const ORIGINS = ["installed", "own"] as const;

const summary = {
  name: GraphName,
  origin: Type.Enum([...ORIGINS], {
    description: "`installed`: a graph of the service; `own`: stored by this key.",
  }),
  version: orNull(VersionNumber, { description: "Of an own graph; null if installed, as the next three." }),
  digest: orNull(version.digest),
  author: orNull(version.author),
  created_at: orNull(Timestamp),
  about: Type.String(),
  params: Type.Unsafe<Record<string, unknown>>({
    ...JsonSchema,
    description: "JSON Schema of `params` of `POST /start`.",
  }),
  reserved_params: Type.Array(Type.String(), {
    description: "Parameters that refer to resources on the server: clients cannot set them.",
  }),
  can_start: Type.Boolean({ description: "False if it requires a reserved parameter or is not valid." }),
  offers: Type.Array(Type.String(), {
    description: "Features that a process of this graph offers, including slot names.",
  }),
  slots: Type.Record(Type.String(), JsonSchema, {
    description: "Slots that can be attached while it runs, with the schema of their parameters.",
  }),
};

export const GraphSummary = Type.Object(summary, { title: "GraphSummary" });
export type GraphSummary = Static<typeof GraphSummary>;

const PipelineNode = Type.Object({
  name: Type.String(),
  step: Type.String({ description: "Name of the step that created it." }),
  element: Type.String(),
  kind: Type.Enum(["native", "typescript"]),
  factory: Type.String(),
  properties: jsonObject(),
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
        tee: orNull(Type.String(), { description: "The tee that it is connected to; null for the main segment." }),
        nodes: Type.Array(PipelineNode),
        links: Type.Array(PipelineLink),
      }),
    ),
    launch: Type.String({ description: "Its native part as a gst-launch-1.0 command line." }),
  },
  { title: "Pipeline" },
);
export type Pipeline = Static<typeof Pipeline>;

export const GraphRecord = Type.Object(
  {
    ...summary,
    yaml: Type.String(),
    pipeline: orNull(Pipeline, { description: "Compiled for a file source; null if the graph is not valid." }),
    faults: Type.Array(GraphFault),
  },
  { title: "Graph" },
);
export type GraphRecord = Static<typeof GraphRecord>;

/** Of graphs, and of models. */
export const NamedQuery = listQuery(["name"], { origin: Type.Optional(Type.Enum([...ORIGINS])) }, "");

export const GraphListing = listing({ graphs: Type.Array(GraphSummary) });

export const ValidateBody = Type.Object({ yaml: Type.String({ description: "YAML of the graph." }) });

export const Validation = Type.Object(
  { valid: Type.Boolean(), faults: Type.Array(GraphFault) },
  { title: "GraphValidation" },
);
export type Validation = Static<typeof Validation>;

export const TryBody = Type.Object({
  yaml: Type.String({
    ...{ minLength: 1, maxLength: 1_048_576 },
    description: "YAML of the graph. It may only use elements on the allow-list.",
  }),
  source_uuid: Uuid,
  params: Type.Optional(jsonObject("Values of the graph's parameters.")),
});

export const TestBody = Type.Object({
  version: Type.Optional(
    Type.Integer({ ...VERSION_RANGE, description: "A version of a graph of your own. Default: the current one." }),
  ),
  only: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      ...{ minItems: 1, maxItems: 100, description: "Names of the tests to run. Default: all." },
    }),
  ),
});

export const GraphTestReport = Type.Object(
  {
    graph: GraphName,
    version: orNull(VersionNumber, { description: "Null for an installed graph." }),
    passed: Type.Boolean({ description: "All of these tests passed." }),
    tests: Type.Array(TestResult, { description: "In the order of the graph." }),
  },
  { title: "GraphTestReport" },
);
export type GraphTestReport = Static<typeof GraphTestReport>;

const ElementProperty = Type.Object({
  name: Type.String(),
  type: Type.String({ description: "Human-readable type." }),
  default: Type.Optional(Type.Unknown()),
  required: Type.Boolean(),
  live: Type.Boolean({ description: "Mutable while PLAYING." }),
  read_only: Type.Boolean(),
  deprecated: Type.Boolean(),
  about: Type.String(),
  choices: Type.Array(Type.Object({ name: Type.String(), about: Type.String() })),
  values: Type.Optional(Type.Array(Type.String(), { description: "The texts that it accepts; absent: any." })),
  is_expression: Type.Optional(Type.Boolean({ description: "Its texts are expressions." })),
});
export type ElementProperty = Static<typeof ElementProperty>;

export const ElementSummary = Type.Object(
  {
    name: Type.String(),
    plugin: Type.String({ description: "`windhover` for Windhover's own elements." }),
    about: Type.String(),
  },
  { title: "ElementSummary" },
);

export const ElementListing = listing({ elements: Type.Array(ElementSummary) });

export const ElementsQuery = Type.Object({
  ...PageQuery.properties,
  find: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        "Return only elements with this text in the name, plugin or description of the element or one of its properties.",
    }),
  ),
});

export const ElementRecord = Type.Object(
  {
    name: Type.String(),
    plugin: Type.String(),
    about: Type.String(),
    kind: Type.Enum(["transform", "sink", "composite", "native"]),
    can_try: Type.Boolean({ description: "Allowed in graphs of clients: `POST /graphs/try`, `PUT /graphs/{name}`." }),
    caps: orNull(Type.String(), { description: "Accepted caps, for Windhover's own elements." }),
    reads: Type.Array(Type.Unknown(), { description: "Frame metadata that it reads." }),
    writes: Type.Array(Type.String(), { description: "Frame metadata that it writes." }),
    example: orNull(Type.String()),
    class: orNull(Type.String(), { description: "Class of a GStreamer element." }),
    rank: orNull(Type.Integer()),
    pads: Type.Array(
      Type.Object({
        name: Type.String(),
        direction: Type.Enum(["sink", "src"]),
        presence: Type.Enum(["always", "sometimes", "request"]),
        caps: Type.String(),
      }),
    ),
    properties: Type.Array(ElementProperty),
    variables: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), type: Type.String(), about: Type.String() }), {
        description: "Of its expressions; elements upstream provide them.",
      }),
    ),
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
  queued: orNull(Type.Number()),
  capacity: orNull(Type.Number()),
  dropped: orNull(Type.Number()),
});

/** The running graph, including attached slots. */
export const ProcessGraph = Type.Object(
  {
    graph: Type.String(),
    about: Type.String(),
    params: jsonObject(),
    live_params: Type.Array(Type.String()),
    offers: Type.Array(Type.String()),
    slots: Type.Array(Type.String()),
    segments: Type.Array(
      Type.Object({
        name: Type.String(),
        tee: orNull(Type.String()),
        nodes: Type.Array(PipelineNode),
        links: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
        steps: Type.Array(StepCounters, { description: "Counters of each step so far." }),
      }),
    ),
  },
  { title: "ProcessGraph" },
);
export type ProcessGraph = Static<typeof ProcessGraph>;

export const ProcessGraphQuery = Type.Object({
  format: Type.Optional(Type.Enum(["json", "dot", "mermaid", "launch"], { description: "Default: `json`." })),
});

const nodeName = (description: string) => Type.String({ minLength: 1, maxLength: 200, description });

export const ProcessGraphEdgeQuery = Type.Object({
  from: nodeName("A node, as in `links` of `GET /process/{process_uuid}/graph`, or a step."),
  to: nodeName("The node or step after it."),
});

/** `{"detect": {"confidence": 0.5}}`, or `{"params": {"confidence": 0.5}}` */
export const LiveProperties = Type.Record(
  Type.String({ minLength: 1, maxLength: 128 }),
  Type.Record(Type.String({ minLength: 1, maxLength: 128 }), Type.Unknown(), {
    minProperties: 1,
    description:
      'properties of a node, as in {"detect": {"confidence": 0.5}}, or params of the graph, as in {"params": {"confidence": 0.5}}',
  }),
  {
    minProperties: 1,
    maxProperties: 1000,
    description: "Values by node and property; `params` for the graph's parameters.",
  },
);

export const UpgradeBody = Type.Object({
  version: Type.Integer({ ...VERSION_RANGE, description: "A version of the graph that the process runs." }),
  dry_run: Type.Optional(Type.Boolean({ description: "Only answer what would change. Default: false." })),
});

export const ProcessUpgrade = Type.Object(
  {
    uuid: Uuid,
    process_uuid: Uuid,
    graph: GraphName,
    version: VersionNumber,
    previous_version: VersionNumber,
    dry_run: Type.Boolean(),
    changes: Type.Array(GraphChange, {
      description: "If the pipeline is relaunched, only the reasons for that. Empty: the same pipeline.",
    }),
    params: jsonObject("All params of the graph in this version."),
  },
  { title: "ProcessUpgrade" },
);
export type ProcessUpgrade = Static<typeof ProcessUpgrade>;

export const LivePropertiesSet = Type.Object({ uuid: Uuid, process_uuid: Uuid, set: LiveProperties });
