/** What is shown while there is nothing to show yet, nothing at all, or something is wrong. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../../client/client.ts";
import type { Asked } from "../asker.ts";
import { html, type Markup } from "../html.ts";
import { toSentence } from "./format.ts";

export const Loading = ({ what = "Loading" }: { what?: string }) =>
  html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${what}…</p>`;

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) =>
  html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** A part of the console itself. */
export const NotLoaded = ({ what }: { what: string }) =>
  html`<${Empty} title=${`${what} could not be loaded`}><p>The service is away, or was updated. <a href=${window.location.href} target="_self">Load it again</a></p></${Empty}>`;

export const Failed = ({ error, onRetry }: { error: ApiError; onRetry?: () => void }) => html`
  <div class="failed" role="alert">
    <p><strong>${error.code === "no_answer" ? "No answer" : "That did not work"}.</strong> ${toSentence(error.message)}</p>
    ${error.errors.length > 1 && html`<ul>${error.errors.map((fault) => html`<li><code>${fault.path}</code> ${fault.message}</li>`)}</ul>`}
    ${onRetry !== undefined && html`<button type="button" onClick=${onRetry}>Try again</button>`}
  </div>
`;

/** One of the three; what was known before stays below what went wrong since. */
export function Shown<T>({
  asked,
  onRetry,
  children,
}: {
  asked: Asked<T>;
  onRetry?: () => void;
  children: (value: T) => Markup;
}) {
  if (asked.state === "loading") return html`<${Loading} />`;
  const failed = asked.state === "failed" && html`<${Failed} error=${asked.error} onRetry=${onRetry} />`;
  return html`${failed}${"value" in asked && asked.value !== undefined && children(asked.value as T)}`;
}
