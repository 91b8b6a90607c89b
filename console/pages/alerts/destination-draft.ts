/** Destinations as they are edited: texts, until they are sent as outputs of an alert. Pure. */
import { type Alert, type AlertOutput, ApiError } from "../../../client/client.ts";
import { findPreset, PLAIN, PRESETS } from "./presets.ts";

export type DestinationType = AlertOutput["type"];

/** Fields of all types, so that a change of the type, or of the preset, keeps what was written. */
interface Texts {
  /** Of a mail. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Of a webhook. */
  readonly url: string;
  readonly secret: string;
  /** `json`, `own`, or the name of a preset. */
  readonly form: string;
  readonly body: string;
  readonly contentType: string;
  /** `Name: value` on each line. */
  readonly headers: string;
  /** Of a broker. */
  readonly host: string;
  readonly topic: string;
  readonly qos: string;
  readonly username: string;
  readonly password: string;
}

export interface Draft extends Texts {
  readonly id: number;
  readonly type: DestinationType;
  /** The URL that `secret` belongs to. */
  readonly secretUrl: string;
}

let last = 0;

export const newDraft = (): Draft => ({
  ...{ id: ++last, type: "email", to: "", subject: "", text: "", url: "", secret: "", secretUrl: "", form: PLAIN },
  ...{
    body: "",
    contentType: "application/json",
    headers: "",
    host: "",
    topic: "",
    qos: "1",
    username: "",
    password: "",
  },
});

/** With the texts of a preset; those of the user stay for their own template. */
export function choosePreset(draft: Draft, form: string): Draft {
  const preset = PRESETS[form];
  if (preset === undefined) return { ...draft, form };
  const { body, contentType, headers } = preset;
  return { ...draft, form, body, contentType, headers: writeHeaders(headers) };
}

const writeHeaders = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

/** Secrets are masked; the service keeps what is sent back so. */
export function toDraft({ type, config }: Alert["output"][number]): Draft {
  const {
    to,
    template,
    qos = 1,
    ...texts
  } = config as {
    readonly to?: readonly string[];
    readonly template?: {
      readonly body: string;
      readonly content_type?: string;
      readonly headers?: Record<string, string>;
    };
    readonly qos?: number;
  } & Partial<Pick<Texts, "subject" | "text" | "url" | "secret" | "host" | "topic" | "username" | "password">>;
  return {
    ...{ ...newDraft(), type, ...texts, qos: String(qos), to: to?.join(", ") ?? "", secretUrl: texts.url ?? "" },
    ...(template !== undefined && {
      ...{
        form: findPreset(template.body),
        body: template.body,
        contentType: template.content_type ?? "application/json",
      },
      headers: writeHeaders(template.headers ?? {}),
    }),
  };
}

/** Throws an error with the path of the field for what cannot be sent. `index`: in the list of outputs. */
export function toOutput(draft: Draft, index: number): AlertOutput {
  const { type } = draft;
  const given = (field: "subject" | "text" | "username" | "password") =>
    draft[field].trim() === "" ? {} : { [field]: draft[field] };
  if (type === "email") {
    const to = draft.to.split(",").map((address) => address.trim());
    return { type, config: { to: to.filter((address) => address !== ""), ...given("subject"), ...given("text") } };
  }
  if (type === "webhook") return { type, config: toWebhook(draft, index) };
  const { host, topic, qos } = draft;
  const broker = { host: host.trim(), topic: topic.trim(), qos: Number(qos) as 0 | 1 | 2 };
  return { type, config: { ...broker, ...given("username"), ...given("password") } };
}

function toWebhook({ url, secret, secretUrl, form, body, contentType, headers: text }: Draft, index: number) {
  const address = url.trim();
  // Another receiver gets a secret of its own.
  const signed = { url: address, ...(secret !== "" && address === secretUrl && { secret }) };
  if (form === PLAIN) return signed;
  const headers = readHeaders(text, `/output/${index}/config/template/headers`);
  const content_type = contentType as "application/json" | "text/plain";
  return { ...signed, template: { body, content_type, ...(Object.keys(headers).length > 0 && { headers }) } };
}

function readHeaders(text: string, path: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      const [name, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      if (at > 0 && name !== "" && value !== "") return [name, value];
      const message = `cannot have the line "${line.trim()}"; expected "Name: value"`;
      throw new ApiError(0, { code: "invalid_input", detail: `Headers ${message}`, errors: [{ path, message }] });
    }),
  );
}

export const toOutputs = (drafts: readonly Draft[]): readonly AlertOutput[] => drafts.map(toOutput);

/** The output alone, to be previewed: any address will do, and secrets do not matter. */
export function toSample(draft: Draft): AlertOutput {
  const { type, config } = toOutput(draft, 0);
  if (type === "email") return { type, config: { ...config, to: ["you@example.org"] } };
  if (type === "mqtt") return { type, config: { host: "broker.example", topic: "alerts" } };
  const { template } = config as { readonly template?: object };
  return {
    type,
    config: { url: "https://example.org/", ...(template !== undefined && { template }) } as AlertOutput["config"],
  };
}
