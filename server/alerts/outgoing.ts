/** The bodies of deliveries: what each output of an alert is sent for a notice. Pure. */
import type { WebhookTemplate } from "../../schemas/api/alerts.ts";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { MailPart } from "../delivery/mail.ts";
import type { StoredOutput } from "../store/alerts.ts";
import { parseTemplate, renderTemplate, type TemplateFormat } from "./template.ts";

/** Rendered when it is stored: every attempt sends the same, and a changed template is for notices to come. */
export function writeBody(output: StoredOutput, notice: AlertNotice): string {
  if (output.type === "email") return JSON.stringify(writeMail(output.config, notice));
  return writeRequest(output.type === "webhook" ? output.config.template : undefined, notice);
}

/** Without a template: the notice. */
export function writeRequest(template: WebhookTemplate | undefined, notice: AlertNotice): string {
  const text = template === undefined ? null : render(template.body, formatOf(template), notice);
  return text ?? JSON.stringify(notice);
}

export const formatOf = ({ content_type }: { readonly content_type?: string }): TemplateFormat =>
  content_type === "text/plain" ? "text" : "json";

/** Null if it is not valid, which has been checked when it was stored. */
function render(text: string, format: TemplateFormat, notice: AlertNotice): string | null {
  const template = parseTemplate(text, format);
  return typeof template === "string" ? null : renderTemplate(template, notice);
}

const MOST_SUBJECT = 200;
const MOST_TEXT = 16_384;
const MOST_TRACKS = 10;

type MailConfig = Pick<Extract<StoredOutput, { readonly type: "email" }>["config"], "subject" | "text">;

export function writeMail({ subject, text }: MailConfig, notice: AlertNotice): MailPart {
  const written = subject === null ? null : render(subject, "text", notice);
  return {
    timestamp: notice.timestamp,
    // One line: a line break would begin another header.
    subject: [...(written ?? `${notice.alias}: ${notice.event}`).replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ")]
      .slice(0, MOST_SUBJECT)
      .join("")
      .trim(),
    text: ((text === null ? null : render(text, "text", notice)) ?? describe(notice)).slice(0, MOST_TEXT).trimEnd(),
  };
}

/** With links to evidence, if the notice has them. */
function describe(notice: AlertNotice): string {
  const { id, alias, type, event, timestamp, tracks, process_uuid } = notice;
  const { snapshot_url, clip_url } = notice as { readonly snapshot_url?: unknown; readonly clip_url?: unknown };
  const shown = tracks.slice(0, MOST_TRACKS).map(({ class_name, track_id }) => `${class_name} ${track_id}`);
  const more = tracks.length > shown.length ? ` and ${tracks.length - shown.length} more` : "";
  return [
    `${alias} (${type}): ${event}`,
    `Time: ${timestamp}`,
    ...(shown.length > 0 ? [`Tracks: ${shown.join(", ")}${more}`] : []),
    ...(typeof snapshot_url === "string" ? [`Picture: ${snapshot_url}`] : []),
    ...(typeof clip_url === "string" ? [`Clip: ${clip_url}`] : []),
    `Process: ${process_uuid}`,
    `Notice: ${id}`,
  ].join("\n");
}
