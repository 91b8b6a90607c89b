/** Names of path parameters, query parameters and fields that identify a resource. */
import type { TObject } from "typebox";
import type { ResourceKind } from "../store/source-of.ts";

const PARAMETER = /\{([^{}]+)\}/g;

/** `/process/{process_uuid}/pause`: `process_uuid`. */
export const parameterNames = (path: string): readonly string[] =>
  [...path.matchAll(PARAMETER)].map(([, name = ""]) => name);

const KINDS: Readonly<Record<string, ResourceKind>> = {
  ...{ source_uuid: "source", source_id: "source", process_uuid: "process", output_uuid: "output" },
  ...{ recording_uuid: "recording", notice_uuid: "notice", clip_uuid: "clip" },
};

/** `POST /alert/{uuid}` names a process, other methods name an alert. */
export const kindOf = (name: string, method: string): ResourceKind | undefined =>
  name === "uuid" ? (method === "POST" ? "process" : "alert") : KINDS[name];

interface Named {
  readonly method: string;
  readonly path: string;
  readonly query?: TObject | undefined;
  readonly body?: object | undefined;
}

/** Whether every request names a resource that belongs to a source. */
export function namesSource({ method, path, query, body }: Named): boolean {
  const required = [query, body as TObject | undefined].flatMap((schema) => schema?.required ?? []);
  return [...parameterNames(path), ...required].some((name) => kindOf(name, method) !== undefined);
}
