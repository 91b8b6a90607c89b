/**
 * The graph document as editors see it: shape, names and help. What only a compiler can know (whether an element exists,
 * what its properties take, what links to what) is the compiler's to say.
 */
import { type TSchema, Type } from "typebox";

const NAME = "^[A-Za-z][A-Za-z0-9_-]*$";

export const When = Type.Union([Type.String(), Type.Boolean()], {
  description: "Keeps this in or out: `flag`, `!flag` or `$name == value`, of a parameter.",
  examples: ["overlay", "!overlay", "$codec == h264"],
});

export const Join = Type.String({
  pattern: "^[A-Za-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_%-]+)?$",
  description: "The name of a node, or `node.pad` for one of its pads.",
});

/** What every element takes beside its own properties. */
export const NODE_PROPERTIES = {
  name: Type.Optional(
    Type.String({ pattern: NAME, description: "Names the node, so that `from:`, `to:` and `set:` can mean it." }),
  ),
  when: Type.Optional(When),
};

export const FromStep = Type.Object(
  { from: Join },
  { additionalProperties: false, description: "The chain goes on from a node of another chain, mostly a `tee`." },
);
export const ToStep = Type.Object(
  { to: Join },
  { additionalProperties: false, description: "The chain ends in a node of another chain, such as a mixer or muxer." },
);
export const CapsStep = Type.Object(
  { caps: Type.String({ description: "GStreamer caps.", examples: ["video/x-raw,width=640,height=360"] }) },
  { additionalProperties: false, description: "Lets through only this format, and makes what comes before give it." },
);

export const Param = Type.Object(
  {
    live: Type.Optional(Type.Boolean({ description: "May change while the graph runs." })),
    default: Type.Optional(Type.Unknown({ description: "Without a default the parameter must be given." })),
  },
  { description: "A JSON Schema of the parameter's value." },
);

export const Params = Type.Record(Type.String({ pattern: NAME }), Param, {
  description:
    "Parameters, used as `$name` (the whole value, with its type) or, inside a longer text, `$" +
    "{name}`; `$$` is a dollar sign.",
});

/** Step schemas differ with the elements that are known, so the document is made from one. */
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
      description: "A branch that is attached to the running graph, any number of times. Begins with `from:` a tee.",
    },
  );
  const Insertion = Type.Object(
    {
      before: Type.Optional(Type.String({ description: "The node to come before: its name, or `slot/node`." })),
      after: Type.Optional(Type.String({ description: "The node to come after: its name, or `slot/node`." })),
      steps: Steps,
    },
    { additionalProperties: false },
  );
  return Type.Object(
    {
      graph: Type.String({ pattern: NAME, description: "Name of the graph." }),
      about: Type.Optional(Type.String({ description: "One sentence on what the graph does." })),
      extends: Type.Optional(Type.String({ description: "The graph this one is a variant of: a template's name." })),
      params: Type.Optional(Params),
      chains: Type.Optional(
        Type.Record(Type.String({ pattern: NAME }), Chain, {
          description: "Runs of linked elements. In a variant, a chain of the same name replaces the inherited one.",
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
            Type.String({ description: "A node, or a chain or slot whose name no node has; in a slot, `slot/node`." }),
            Type.Object({ node: Type.String() }, { additionalProperties: false }),
            Type.Object({ chain: Type.String() }, { additionalProperties: false }),
            Type.Object({ slot: Type.String() }, { additionalProperties: false }),
          ]),
          { description: "With `extends`: nodes, chains and slots to leave out." },
        ),
      ),
    },
    { title: "Windhover graph", additionalProperties: false },
  );
}
