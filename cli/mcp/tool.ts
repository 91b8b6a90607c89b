/** A tool of the MCP server, and the check of its arguments. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { explainErrors } from "../../schemas/bounded-check.ts";
import { OWN_SCHEMAS } from "../../schemas/own-schemas.ts";

/** Longer texts are cut: they fill the context of the model that reads them. */
export const MOST_CHARACTERS = 100_000;

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: { readonly type: "object"; readonly [key: string]: unknown };
  /** It changes nothing. */
  readonly isReadOnly: boolean;
  /** It deletes or stops something. */
  readonly isDestructive?: boolean;
  call(input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<ToolResult>;
}

export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}

export const failure = (text: string): ToolResult => ({ text, isError: true });

export function cut(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n(cut: ${text.length - MOST_CHARACTERS} more characters)`;
}

/** Checks arguments against the schemas of tools, which are compiled when they are used. */
export class ArgumentCheck {
  readonly #ajv = new Ajv2020({
    ...OWN_SCHEMAS,
    allErrors: true,
    verbose: true,
    logger: false,
    validateFormats: false,
  });
  readonly #compiled = new Map<string, ReturnType<Ajv2020["compile"]>>();

  /** All faults in a text; null: there are none. */
  check({ name, inputSchema }: Tool, input: unknown): string | null {
    const validate = this.#compiled.get(name) ?? this.#ajv.compile(inputSchema);
    this.#compiled.set(name, validate);
    if (validate(input)) return null;
    const faults = explainErrors(validate.errors ?? []).map(
      ({ fault: { path, message } }) => `${path || "the value"} ${message}`,
    );
    return `The arguments of ${name} are not valid: ${faults.join("\n")}`;
  }
}
