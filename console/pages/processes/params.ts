/** The parameters of a graph as fields of a form. */
import type { GraphSummary } from "../../../client/client.ts";
import { type FieldSchema, SchemaField } from "../../components/form.ts";
import { html } from "../../html.ts";

export type ParamSchemas = Readonly<Record<string, FieldSchema>>;

/** Without those that name something on the server. */
export const paramsOf = (graph: GraphSummary | undefined): ParamSchemas => {
  const { properties = {} } = (graph?.params ?? {}) as { properties?: ParamSchemas };
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !graph?.reserved_params.includes(name)));
};

/** `graph`: other fields for another one. */
export const ParamFields = ({ graph, schemas }: { graph: string; schemas: ParamSchemas }) =>
  Object.keys(schemas).length > 0 &&
  html`<details><summary>Parameters</summary><div class="fields">
    ${Object.entries(schemas).map(([param, schema]) => html`<${SchemaField} key=${`${graph}:${param}`} name=${param} schema=${schema} />`)}
  </div></details>`;
