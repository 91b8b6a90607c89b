/** Models: installed ones, and those that keys upload. */
import { type Static, Type } from "typebox";
import { listing, orNull, Timestamp } from "./records.ts";

export const ModelName = Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-z0-9][a-z0-9-]*$" });

export const ModelRecord = Type.Object(
  {
    name: ModelName,
    origin: Type.Enum(["installed", "own"], {
      description: "`installed`: a model of the service; `own`: uploaded by this key.",
    }),
    labels: Type.Array(Type.String(), { description: "Names of its classes." }),
    about: orNull(Type.String(), { description: "Of an own model; null if installed, as the next four." }),
    digest: orNull(Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of the ONNX file." })),
    size_bytes: orNull(Type.Integer({ minimum: 0 })),
    author: orNull(Type.String({ description: "Name of the key that uploaded it." })),
    created_at: orNull(Timestamp),
  },
  { title: "Model" },
);
export type ModelRecord = Static<typeof ModelRecord>;

export const ModelListing = listing({ models: Type.Array(ModelRecord) });

export const NewModel = Type.Object({
  file: Type.String({ format: "binary", description: "The model: ONNX, in one file." }),
  card: Type.String({
    format: "binary",
    description: "Its card (YAML). `sources`, `sha256` and `bytes` may be left out.",
  }),
});

export const DeletedModel = Type.Object({ deleted: Type.Literal(true), name: ModelName });
