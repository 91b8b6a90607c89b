/** What the key may do, and what it has left. */
import type { ChildSubscription, Status, Subscription, UserInformation } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { formatBytes } from "../../parts/format.ts";
import { Shown } from "../../parts/states.ts";
import { windhover } from "../../session.ts";

const EVERY_MS = 5_000;
/** What the service says where there is no limit, and no last day. */
const UNLIMITED_MINUTES = 1_000_000_000;
const NEVER = "9999-12-31";

interface Known {
  readonly user: UserInformation;
  readonly status: Status;
}

export function Usage() {
  const { asked, reload } = useAsked(
    async (signal): Promise<Known> => {
      const [user, status] = await Promise.all([windhover.getUserInfo({ signal }), windhover.getStatus({ signal })]);
      return { user, status };
    },
    [],
    EVERY_MS,
  );
  return html`
    <div class="middle"><h1>Usage</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ user, status }: Known) => html`
        <div class="two">
          <section class="card"><h2>${user.username}</h2>
            <${MinutesBar} subscription=${user.subscription} />
            <dl class="facts">
              <${Minutes} subscription=${user.subscription} />
              <dt>Product</dt><dd>${user.product}</dd>
              <dt>Track reports</dt><dd>${user.is_track_logger_enabled ? "on" : "off"}</dd>
              <dt>One video</dt><dd>${formatBytes(user.uploaded_video_storage.max_video_upload_size_bytes)} at most</dd>
              <dt>All videos</dt><dd>${formatBytes(user.uploaded_video_storage.total_storage_size_bytes)} at most</dd>
            </dl>
          </section>
          <${Health} status=${status} />
        </div>
        ${user.children_subscription !== undefined && html`<${Children} children=${user.children_subscription} />`}
      `}
    </${Shown}></div>
  `;
}

const isUnlimited = ({ remaining_minutes }: Subscription): boolean => remaining_minutes >= UNLIMITED_MINUTES;
const showLeft = (subscription: Subscription): string =>
  isUnlimited(subscription) ? "no limit" : subscription.remaining_minutes.toFixed(1);
const showLastDay = ({ expiration_date }: Subscription): string =>
  expiration_date === NEVER ? "no last day" : expiration_date;

const MinutesBar = ({ subscription }: { subscription: Subscription }) => {
  const { consumed_minutes, remaining_minutes } = subscription;
  if (isUnlimited(subscription)) return null;
  return html`<progress max=${consumed_minutes + remaining_minutes} value=${consumed_minutes} aria-label="Minutes used"></progress>`;
};

const Minutes = ({ subscription }: { subscription: Subscription }) => html`
  <dt>Minutes used</dt><dd>${subscription.consumed_minutes.toFixed(1)}</dd>
  <dt>Minutes left</dt><dd>${showLeft(subscription)}</dd>
  ${subscription.pending_to_allocate > 0 && html`<dt>To hand out</dt><dd>${subscription.pending_to_allocate.toFixed(1)}</dd>`}
  <dt>Valid until</dt><dd>${showLastDay(subscription)}</dd>
`;

const Health = ({ status }: { status: Status }) => html`
  <section class="card">
    <h2>Service <span class=${status.status === "ok" ? "state live" : "state failed"}>${status.status}</span></h2>
    <dl class="facts">
      <dt>Version</dt><dd>${status.software_version}, interface ${status.version}</dd>
      ${Object.entries(status.components ?? {}).map(([name, words]) => html`<dt>${name.replaceAll("_", " ")}</dt><dd>${String(words)}</dd>`)}
    </dl>
  </section>
`;

const Children = ({ children }: { children: readonly ChildSubscription[] }) => html`
  <h2 class="gap">Keys that belong to this one</h2>
  <table class="cards">
    <thead><tr><th>User</th><th>Minutes used</th><th>Minutes left</th><th>Valid until</th></tr></thead>
    <tbody>${children.map(
      (child) => html`<tr key=${child.username}>
        <td><strong>${child.username}</strong></td>
        <td data-name="Minutes used">${child.consumed_minutes.toFixed(1)}</td>
        <td data-name="Minutes left">${showLeft(child)}</td>
        <td data-name="Valid until">${showLastDay(child)}</td>
      </tr>`,
    )}</tbody>
  </table>
`;
