/** Limits and usage of the key, and the status of the service. */
import type { ChildSubscription, Status, Subscription } from "../../../client/client.ts";
import { formatBytes } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { type Column, Table } from "../../components/table.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";

const POLL_MS = 5_000;
/** The values of the API for "unlimited" and "does not expire". */
const UNLIMITED_MINUTES = 1_000_000_000;
const NEVER = "9999-12-31";

export function Usage() {
  const query = useQuery(
    async (signal) => {
      const [user, status] = await Promise.all([windhover.getUserInfo({ signal }), windhover.getStatus({ signal })]);
      return { user, status };
    },
    [],
    POLL_MS,
  );
  return html`
    <div class="middle"><h1>Usage</h1>
    ${whenLoaded(
      query,
      ({ user, status }) => html`
        <div class="two">
          <section class="card"><h2>${user.username}</h2>
            <${MinutesBar} subscription=${user.subscription} />
            <dl class="facts">
              <${Minutes} subscription=${user.subscription} />
              <dt>Product</dt><dd>${user.product}</dd>
              <dt>Track reports</dt><dd>${user.is_track_logger_enabled ? "on" : "off"}</dd>
              <dt>Video size limit</dt><dd>${formatBytes(user.uploaded_video_storage.max_video_upload_size_bytes)}</dd>
              <dt>Video storage limit</dt><dd>${formatBytes(user.uploaded_video_storage.total_storage_size_bytes)}</dd>
            </dl>
          </section>
          <${Health} status=${status} />
        </div>
        ${user.children_subscription !== undefined && html`<${Children} children=${user.children_subscription} />`}
      `,
    )}</div>
  `;
}

const isUnlimited = ({ remaining_minutes }: Subscription): boolean => remaining_minutes >= UNLIMITED_MINUTES;
const formatRemaining = (subscription: Subscription): string =>
  isUnlimited(subscription) ? "unlimited" : subscription.remaining_minutes.toFixed(1);
const formatExpiry = ({ expiration_date }: Subscription): string =>
  expiration_date === NEVER ? "no expiry" : expiration_date;

const MinutesBar = ({ subscription }: { subscription: Subscription }) => {
  const { consumed_minutes, remaining_minutes } = subscription;
  if (isUnlimited(subscription)) return null;
  return html`<progress max=${consumed_minutes + remaining_minutes} value=${consumed_minutes} aria-label="Minutes used"></progress>`;
};

const Minutes = ({ subscription }: { subscription: Subscription }) => html`
  <dt>Minutes used</dt><dd>${subscription.consumed_minutes.toFixed(1)}</dd>
  <dt>Minutes remaining</dt><dd>${formatRemaining(subscription)}</dd>
  ${subscription.pending_to_allocate > 0 && html`<dt>To allocate</dt><dd>${subscription.pending_to_allocate.toFixed(1)}</dd>`}
  <dt>Valid until</dt><dd>${formatExpiry(subscription)}</dd>
`;

const Health = ({ status }: { status: Status }) => html`
  <section class="card">
    <h2>Service <span class=${status.status === "ok" ? "state live" : "state failed"}>${status.status}</span></h2>
    <dl class="facts">
      <dt>Version</dt><dd>${status.software_version}, API ${status.version}</dd>
      ${Object.entries(status.components ?? {}).map(([name, text]) => html`<dt>${name.replaceAll("_", " ")}</dt><dd>${String(text)}</dd>`)}
    </dl>
  </section>
`;

const COLUMNS: readonly Column<ChildSubscription>[] = [
  ["User", ({ username }) => html`<strong>${username}</strong>`],
  ["Minutes used", ({ consumed_minutes }) => consumed_minutes.toFixed(1)],
  ["Minutes remaining", formatRemaining],
  ["Valid until", formatExpiry],
];

const Children = ({ children }: { children: readonly ChildSubscription[] }) => html`
  <h2 class="gap">Child keys</h2>
  <${Table} rows=${children} keyOf=${({ username }: ChildSubscription) => username} columns=${COLUMNS} />
`;
