/** What a golden file holds: what it was recorded from, and every message that the graph sent. */
import { type Static, Type } from "typebox";
import type { JsonRecord } from "../../schemas/json.ts";

const CLOSED = { additionalProperties: false } as const;
const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$", description: "64 hexadecimal digits." });

export const RecordedModel = Type.Object(
  {
    /** The step that looks with it. */
    node: Type.String(),
    name: Type.String(),
    /** Of the weights, as the card states it. */
    sha256: Sha256,
    /** Of the ONNX that is run. Weights may be converted otherwise for another kind of machine. */
    network: Sha256,
    /** What counts as seen, and what the tracker may still hold on to; from 0 to 1. */
    confidence: Type.Number(),
    weak: Type.Number(),
  },
  CLOSED,
);
export type RecordedModel = Static<typeof RecordedModel>;

/** No times and no absolute paths: recorded again elsewhere, it is the same. */
export const GoldenHeader = Type.Object(
  {
    golden: Type.Literal(2, { description: "Version of the format." }),
    windhover: Type.String(),
    /** Kind of processor: another one may round otherwise. */
    machine: Type.String(),
    graph: Type.String(),
    params: Type.Record(Type.String(), Type.Unknown()),
    frames: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: "How far into the clip." }),
    clip: Type.Object({ name: Type.String(), sha256: Sha256 }, CLOSED),
    models: Type.Array(RecordedModel),
  },
  CLOSED,
);
export type GoldenHeader = Omit<Static<typeof GoldenHeader>, "params"> & { readonly params: JsonRecord };

/** A message, and who sent it where. */
export interface Said {
  readonly node: string;
  readonly channel: string;
  readonly message: JsonRecord;
}

export interface Golden {
  readonly header: GoldenHeader;
  /** Those of one node together and in its order: how several nodes take turns is chance. */
  readonly said: readonly Said[];
}
