/** Models: installed ones, and those that keys upload. */
import { Type } from "typebox";
import { NamedQuery } from "../../schemas/api/graphs.ts";
import { DeletedModel, ModelListing, ModelName, ModelRecord, NewModel } from "../../schemas/api/models.ts";
import type { OwnModels } from "../models/own-models.ts";
import type { ModelRow } from "../store/models.ts";
import { type AnyEndpoint, defineEndpoints, listing, ok } from "./endpoint.ts";
import { expectAuthor, pageByName } from "./graphs.ts";

const define = defineEndpoints("Graphs");

interface ModelDeps {
  readonly own: OwnModels;
  /** The installed models. */
  listInstalled(): Promise<readonly { readonly name: string; readonly labels: readonly string[] }[]>;
}

export function modelEndpoints({ own, listInstalled }: ModelDeps): readonly AnyEndpoint[] {
  return [
    define("GET", "/models", "listModels", {
      summary: "List the models: installed ones and your own",
      sources: "none",
      query: NamedQuery,
      answers: { 200: { description: "By name.", schema: ModelListing } },
      async handle({ user, query }) {
        const mine = (await own.list(user)).map(showOwn);
        const others = (await listInstalled()).filter(({ name }) => !mine.some((model) => model.name === name));
        const all = [...others.map(showInstalled), ...mine].sort((a, b) => (a.name < b.name ? -1 : 1));
        return listing("models", pageByName(all, query));
      },
    }),
    define("POST", "/models", "uploadModel", {
      summary: "Upload a model of your own",
      description:
        "A form with the ONNX file in the part `file`, and its card (YAML, as of `windhover models show NAME`) in the part `card`. Requires a key with the flag `graph_author`. The card and the network are checked, and the network is run on one image, in a process with limits. Graphs of this key name the model as `detect: { model: NAME }`, and `detect` takes it as the param `model`. The same model again is not stored again.",
      rawBody: { mediaType: "multipart/form-data", schema: NewModel },
      answers: {
        200: { description: "You have this model already.", schema: ModelRecord },
        201: { description: "The model.", schema: ModelRecord },
      },
      errors: [
        ...(["graph_author_needed", "model_invalid", "model_too_large", "model_name_taken"] as const),
        ...(["models_limit_reached", "disk_full", "body_too_large", "media_type_unsupported"] as const),
        ...(["invalid_input", "request_timeout", "rate_limited"] as const),
      ],
      async handle(call) {
        expectAuthor(call.user);
        const { row, isNew } = await own.upload(call);
        return { status: isNew ? 201 : 200, body: showOwn(row) };
      },
    }),
    define("DELETE", "/models/{name}", "deleteModel", {
      summary: "Delete a model of your own",
      params: Type.Object({ name: ModelName }),
      answers: { 200: { description: "Deleted.", schema: DeletedModel } },
      errors: ["graph_author_needed", "model_not_found", "model_in_use"],
      async handle({ user, params: { name } }) {
        expectAuthor(user);
        await own.delete(user, name);
        return ok({ deleted: true, name });
      },
    }),
  ];
}

const showOwn = ({ name, labels, card, digest, sizeBytes, author, createdAt }: ModelRow): ModelRecord => ({
  ...{ name, origin: "own", labels: [...labels], about: String(card.about ?? ""), digest, author },
  size_bytes: sizeBytes,
  created_at: createdAt.toISOString(),
});

const showInstalled = ({
  name,
  labels,
}: {
  readonly name: string;
  readonly labels: readonly string[];
}): ModelRecord => ({
  ...{ name, origin: "installed", labels: [...labels] },
  ...{ about: null, digest: null, size_bytes: null, author: null, created_at: null },
});
