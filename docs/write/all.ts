/** All generated pages and the client, by path. */
import type { OpenApi as ClientDocument } from "../../client/write-client.ts";
import { writeClient } from "../../client/write-client.ts";
import { writePython } from "../../client/write-python.ts";
import { describeMessages } from "../../server/api/asyncapi.ts";
import { type ListedApi, writeOverview } from "../../server/api/overview.ts";
import { writeApi } from "./api.ts";
import { writeCommands } from "./commands.ts";
import { writeConfig } from "./config.ts";
import { writeElements } from "./elements.ts";
import { writeExpressions } from "./expressions.ts";
import { writeModels } from "./models.ts";
import type { OpenApi } from "./open-api.ts";
import { writeCollection } from "./postman.ts";

export async function writeAll(document: unknown): Promise<ReadonlyMap<string, string>> {
  const pages: readonly (readonly [string, string])[] = [
    ...writeApi(document as OpenApi),
    ["docs/commands.md", await writeCommands()],
    ["docs/configuration.md", writeConfig()],
    ["docs/elements.md", await writeElements()],
    ["docs/expressions.md", writeExpressions()],
    ["docs/models.md", writeModels()],
  ];
  return new Map([
    ...pages.map(([path, text]) => [path, `${text}\n`] as const),
    ["docs/asyncapi.json", `${JSON.stringify(describeMessages(), null, 1)}\n`],
    ["docs/llms.txt", writeOverview(document as ListedApi)],
    ["docs/windhover.postman_collection.json", writeCollection(document as OpenApi)],
    ["client/operations.ts", writeClient(document as ClientDocument)],
    ["client/python/windhover/operations.py", writePython(document as ClientDocument)],
  ]);
}
