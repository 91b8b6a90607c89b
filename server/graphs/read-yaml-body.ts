/** A graph in the body of a request: as YAML, or as JSON with the YAML in it. */
import type { IncomingMessage } from "node:http";
import { ValidateBody } from "../../schemas/api/graphs.ts";
import { type BodyLimits, expectSize, parseJson, readBytes } from "../api/input.ts";
import { ServiceError } from "../service-error.ts";
import { checkBy } from "../validation.ts";

const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain"];
const checkBody = checkBy(ValidateBody);

type YamlCall = { readonly raw: IncomingMessage; letContinue(): void };

export async function readYamlBody(call: YamlCall, limits: BodyLimits): Promise<string> {
  const incoming = call.raw;
  const [type = ""] = (incoming.headers["content-type"] ?? "application/yaml").split(";");
  const mediaType = type.trim().toLowerCase();
  const isYaml = YAML_TYPES.includes(mediaType);
  if (!isYaml && mediaType !== "application/json")
    throw new ServiceError("media_type_unsupported", {
      detail: `The body is declared as "${mediaType}"; expected application/yaml, or application/json with the graph as \`yaml\`.`,
    });
  expectSize(incoming, limits);
  call.letContinue();
  const bytes = await readBytes(incoming, limits);
  if (isYaml) return bytes.toString("utf8");
  const body = parseJson(bytes);
  const errors = checkBody(body);
  if (errors.length === 0) return (body as { yaml: string }).yaml;
  const [first] = errors;
  throw new ServiceError("invalid_input", { detail: `${first?.path || "The body"} ${first?.message}.`, errors });
}
