/**
 * The schema of the graph document for editors: structure, names and help. The compiler checks everything else: whether an
 * element exists, the values of its properties, and the links.
 */
import { type TSchema, Type } from "typebox";

const NAME = "^[A-Za-z][A-Za-z0-9_-]*$";

export const When = Type.Union([Type.String(), Type.Boolean()], {
  description: "Condition on a parameter for including this: `flag`, `!flag` or `$name == value`.",
  examples: ["overlay", "!overlay", "$codec == h264"],
});

const Join = Type.String({
  pattern: "^[A-Za-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_%-]+)?$",
  description: "The name of a node, or `node.pad` for one of its pads.",
});

/** Accepted by every element besides its own properties. */
export const NODE_PROPERTIES = {
  name: Type.Optional(Type.String({ pattern: NAME, description: "Name of the node, for `from:`, `to:` and `set:`." })),
  when: Type.Optional(When),
};

export const FromStep = Type.Object(
  { from: Join },
  { additionalProperties: false, description: "Starts the chain at a node of another chain, usually a `tee`." },
);
export const ToStep = Type.Object(
  { to: Join },
  { additionalProperties: false, description: "Ends the chain in a node of another chain, such as a mixer or muxer." },
);
export const CapsStep = Type.Object(
  { caps: Type.String({ description: "GStreamer caps.", examples: ["video/x-raw,width=640,height=360"] }) },
  { additionalProperties: false, description: "A caps filter: restricts the link to this format." },
);

export const UseStep = Type.Object(
  {
    use: Type.Union([
      Type.String({ description: "Name of a part; `FILE#PART` for a part of another graph file." }),
      Type.Object(
        {
          part: Type.String({ description: "Name of a part; `FILE#PART` for a part of another graph file." }),
          name: Type.Optional(
            Type.String({ pattern: NAME, description: "Begins the names of its nodes: `small` gives `small-encode`." }),
          ),
          when: Type.Optional(When),
        },
        { description: "The part, and values of its parameters." },
      ),
    ]),
  },
  { additionalProperties: false, description: "The steps of a part, in place of this step." },
);

export const Param = Type.Object(
  {
    live: Type.Optional(Type.Boolean({ description: "Mutable while PLAYING." })),
    default: Type.Optional(Type.Unknown({ description: "A parameter without a default is required." })),
  },
  { description: "A JSON Schema of the parameter's value." },
);

export const Params = Type.Record(Type.String({ pattern: NAME }), Param, {
  description:
    "Parameters, used as `$name` (the whole value, with its type) or, inside a longer text, `$" +
    "{name}`; `$$` is a dollar sign.",
});

const Expected = Type.Union([Type.Number({ minimum: 0 }), Type.String()], {
  description: "A number, `3..5`, `3..`, `..5`, or in quotes `>=3`, `>3`, `<=5`, `<5`.",
});

const Test = Type.Object(
  {
    about: Type.Optional(Type.String({ description: "One sentence on what the test shows." })),
    clip: Type.Optional(Type.String({ description: "Video file, relative to this file, or `test:PATTERN?frames=N`." })),
    params: Type.Optional(
      Type.Record(Type.String({ pattern: NAME }), Type.Unknown(), { description: "Values of the graph's parameters." }),
    ),
    telemetry: Type.Optional(Type.String({ description: "Telemetry file, relative to this file." })),
    telemetry_format: Type.Optional(
      Type.String({ description: "Its format, as for `--telemetry-format`. Default: `native`." }),
    ),
    frames: Type.Optional(Type.Integer({ minimum: 1, description: "Only the first frames of the clip." })),
    alerts: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: "Alerts for the element `alerts`, as bodies of `POST /alert`.",
      }),
    ),
    expect: Type.Object(
      { golden: Type.Optional(Type.String({ description: "Golden file, relative to this file." })) },
      {
        minProperties: 1,
        patternProperties: {
          "^(frames|messages|fps_ratio)$": Expected,
          "^(detections|tracks|alerts)(\\..+)?$": Expected,
          "^counts\\..+$": Expected,
        },
        additionalProperties: false,
        description:
          "Expected numbers: `frames`, `messages`, `detections`, `tracks` (both also by class: `tracks.person`), `counts.NAME`, `alerts`, `alerts.ALIAS`, `alerts.ALIAS.triggered`, `fps_ratio`.",
      },
    ),
  },
  { additionalProperties: false, description: "A run on a clip, and what is expected of it." },
);

/** The schema of a step depends on the available elements. */
export function graphSchema<S extends TSchema>(step: S) {
  const Steps = Type.Array(step, { minItems: 1, description: "Elements, linked in this order." });
  const Chain = Type.Union([
    Steps,
    Type.Object({ when: Type.Optional(When), chain: Steps }, { additionalProperties: false }),
  ]);
  const Slot = Type.Object(
    {
      about: Type.Optional(Type.String({ description: "One sentence on what the slot is for." })),
      when: Type.Optional(When),
      params: Type.Optional(Params),
      chain: Steps,
    },
    {
      additionalProperties: false,
      description: "A branch that can be attached to the running graph any number of times. Begins with `from:` a tee.",
    },
  );
  const Part = Type.Object(
    {
      about: Type.Optional(Type.String({ description: "One sentence on what the part does." })),
      params: Type.Optional(Params),
      chain: Steps,
    },
    {
      additionalProperties: false,
      description: "Steps that chains and slots can `use`, with parameters of their own.",
    },
  );
  const Insertion = Type.Object(
    {
      before: Type.Optional(Type.String({ description: "Insert before this node: its name, or `slot/node`." })),
      after: Type.Optional(Type.String({ description: "Insert after this node: its name, or `slot/node`." })),
      steps: Steps,
    },
    { additionalProperties: false },
  );
  return Type.Object(
    {
      graph: Type.String({ pattern: NAME, description: "Name of the graph." }),
      about: Type.Optional(Type.String({ description: "One sentence on what the graph does." })),
      extends: Type.Optional(Type.String({ description: "Name of the graph that this one extends." })),
      params: Type.Optional(Params),
      parts: Type.Optional(
        Type.Record(Type.String({ pattern: NAME }), Part, {
          description:
            "Named pieces of chains, for `use:`. With `extends`, a part of the same name replaces the inherited one.",
        }),
      ),
      chains: Type.Optional(
        Type.Record(Type.String({ pattern: NAME }), Chain, {
          description:
            "Chains of linked elements. With `extends`, a chain of the same name replaces the inherited one.",
        }),
      ),
      slots: Type.Optional(Type.Record(Type.String({ pattern: NAME }), Slot)),
      set: Type.Optional(
        Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
          description:
            "With `extends`: properties to change, by node: `detect: { confidence: 0.2 }`; in a slot, `slot/node`.",
        }),
      ),
      insert: Type.Optional(
        Type.Array(Insertion, {
          description: "With `extends`: steps to add, `- after: NODE` or `- before: NODE`, then `steps:`.",
        }),
      ),
      remove: Type.Optional(
        Type.Array(
          Type.Union([
            Type.String({
              description: "A node, or a chain or slot if no node has that name; in a slot, `slot/node`.",
            }),
            Type.Object({ node: Type.String() }, { additionalProperties: false }),
            Type.Object({ chain: Type.String() }, { additionalProperties: false }),
            Type.Object({ slot: Type.String() }, { additionalProperties: false }),
          ]),
          { description: "With `extends`: nodes, chains and slots to remove." },
        ),
      ),
      tests: Type.Optional(
        Type.Record(Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$" }), Test, {
          description: "Tests of the graph, run by `windhover test`.",
        }),
      ),
    },
    { title: "Windhover graph", additionalProperties: false },
  );
}
