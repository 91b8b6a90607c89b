/** What is wrong with a graph or its params, as the API says it. */
import type { Fault } from "../../graphs/compiler/fault.ts";
import type { ParamFault, Refusal } from "../../graphs/compiler/worker/messages.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { didYouMean } from "../../schemas/suggest.ts";
import { type InputFault, ServiceError } from "../service-error.ts";

/** More are no help to whoever reads them. */
const MOST_FAULTS = 100;

export const refuseName = (name: string, installed: readonly string[]): ServiceError =>
  new ServiceError("graph_not_found", {
    detail: `There is no graph "${name.slice(0, 80)}"${didYouMean(name, installed)}; there are ${installed.join(", ")}.`,
  });

/** `uri` is the server's own and goes to nobody: it may be a path of this machine or hold a password. */
export function refuseInput(graph: string, { params, graph: faults }: Refusal, uri: string | null): ServiceError {
  const errors = [...params.map(showParam), ...faults.map(showFault)].map(({ path, message }) => ({
    path,
    message:
      uri === null ? message : message.replaceAll(uri, "the source").replaceAll(maskCredentials(uri), "the source"),
  }));
  const what = params.length > 0 ? `The params do not fit the graph "${graph}"` : `The graph "${graph}" is not valid`;
  const first = errors[0] === undefined ? "" : `: ${errors[0].path} ${errors[0].message}`;
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : "";
  return new ServiceError("invalid_input", { detail: `${what}${first}${more}.`, errors: errors.slice(0, MOST_FAULTS) });
}

const showParam = ({ path, message }: ParamFault): InputFault => ({
  path: `/params/${path.map((key) => key.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`,
  message,
});

/** `line 12, column 7`, as the graph has no place in the body. */
function showFault({ at, message, expected, suggestion }: Fault): InputFault {
  const hints = [
    ...(expected === undefined ? [] : [`expected ${expected}`]),
    ...(suggestion === undefined ? [] : [`did you mean "${suggestion}"?`]),
  ];
  const hint = hints.length === 0 ? "" : ` (${hints.join("; ")})`;
  return { path: "/yaml", message: `${at.file ?? "graph"}:${at.line}:${at.column}: ${message}${hint}` };
}
