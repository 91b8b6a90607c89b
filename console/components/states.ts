/** What a page shows while it loads, when a list is empty, and when a request failed. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../../client/client.ts";
import { html } from "../html.ts";
import { toSentence } from "./format.ts";

export const Loading = ({ what = "Loading" }: { what?: string }) =>
  html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${what}…</p>`;

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) =>
  html`<div class="empty"><h2>${title}</h2>${children}</div>`;

/** A script of the console itself is missing. */
export const NotLoaded = ({ what }: { what: string }) =>
  html`<${Empty} title=${`${what} could not be loaded`}><p>The service is unreachable, or was updated. <a href=${window.location.href} target="_self">Reload</a></p></${Empty}>`;

export const Failed = ({ error, onRetry }: { error: ApiError; onRetry?: () => void }) => html`
  <div class="failed" role="alert">
    <p><strong>${error.code === "no_answer" ? "No response" : "Request failed"}.</strong> ${toSentence(error.message)}</p>
    ${error.errors.length > 1 && html`<ul>${error.errors.map(({ path, message }) => html`<li><code>${path}</code> ${message}</li>`)}</ul>`}
    ${onRetry !== undefined && html`<button type="button" onClick=${onRetry}>Try again</button>`}
  </div>
`;
