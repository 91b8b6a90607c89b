/** The API keys of the account and its children: created, rotated, changed and revoked. */
import { useState } from "preact/hooks";
import type { Key } from "../../../client/client.ts";
import { confirm, Dialog, FormDialog } from "../../components/dialog.ts";
import { Input, Select, useFault, useSubmit } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { More, useList, useQuery, whenLoaded } from "../../components/query.ts";
import { type Column, Table } from "../../components/table.ts";
import { attempt, Copyable } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { session, windhover } from "../../session.ts";

const POLL_MS = 5_000;

/** What is shown in a dialog: a form, or a key that was created. */
type Open =
  | { readonly form: "create" }
  | { readonly form: "rotate" | "change"; readonly key: Key }
  | { readonly made: string };

export function Keys() {
  const [withRevoked, setWithRevoked] = useState(false);
  const [open, setOpen] = useState<Open | null>(null);
  const { query, showMore } = useList(
    ({ limit }, signal) => windhover.listKeys({ limit, state: withRevoked ? "all" : "current" }, { signal }),
    [withRevoked],
    POLL_MS,
  );
  const close = () => setOpen(null);
  const done = (made: string | null) => {
    setOpen(made === null ? null : { made });
    query.reload();
  };
  const revoke = async (key: Key): Promise<void> => {
    const text = html`Requests with <code>${key.prefix}…</code> are rejected within a second; its streams and publishers end. Processes that it has started continue.`;
    if (!(await confirm({ title: `Revoke ${key.name}?`, action: "Revoke", text }))) return;
    await attempt(() => windhover.revokeKey({ key_uuid: key.uuid }), "Key revoked");
    query.reload();
  };
  const actions = (key: Key) =>
    key.state !== "revoked" &&
    html`<div class="row actions">
      ${key.person === null && html`<button type="button" aria-label=${`Rotate ${key.name}`} onClick=${() => setOpen({ form: "rotate", key })}>Rotate</button>`}
      <button type="button" aria-label=${`Change ${key.name}`} onClick=${() => setOpen({ form: "change", key })}>Change</button>
      <button type="button" class="plain" aria-label=${`Revoke ${key.name}`} onClick=${() => void revoke(key)}>Revoke</button>
    </div>`;
  return html`
    <div class="row spread">
      <h1>Keys</h1>
      <button type="button" class="primary" onClick=${() => setOpen({ form: "create" })}>Create a key</button>
    </div>
    <p class="hint">Give each program a key of its own, with the rights that it needs. A key is shown once, when it is created.</p>
    <label class="check"><input type="checkbox" checked=${withRevoked} onChange=${() => setWithRevoked(!withRevoked)} /> Show revoked keys</label>
    ${whenLoaded(
      query,
      ({ keys, next_cursor }) => html`
        <${Table} label="Keys" rows=${keys} columns=${COLUMNS} actions=${actions} />
        <${More} count=${keys.length} next=${next_cursor} onMore=${showMore} />
      `,
    )}
    ${open !== null && "made" in open && html`<${MadeKey} made=${open.made} onClose=${close} />`}
    ${open !== null && "form" in open && open.form === "create" && html`<${CreateKey} onClose=${close} onDone=${done} />`}
    ${open !== null && "form" in open && open.form === "rotate" && html`<${RotateKey} known=${open.key} onClose=${close} onDone=${done} />`}
    ${open !== null && "form" in open && open.form === "change" && html`<${ChangeKey} known=${open.key} onClose=${close} onDone=${done} />`}
  `;
}

/** Marks of states that other pages use, too. */
const MARKS = { valid: "active", expired: "paused", revoked: "failed" };

const COLUMNS: readonly Column<Key>[] = [
  [
    "Key",
    ({ name, prefix, person, username }) => html`
      <strong>${name}</strong>
      <p class="hint"><code>${prefix}…</code>${person !== null && html` session of ${person}`}${username !== session.value?.login.username && html`, account ${username}`}</p>
    `,
  ],
  ["State", ({ state }) => html`<span class=${`state ${MARKS[state]}`}>${state}</span>`],
  [
    "Rights",
    ({ scopes, source_uuids }) =>
      html`${scopes.join(", ")}${source_uuids !== null && html`<p class="hint">${source_uuids.length === 1 ? "1 source" : `${source_uuids.length} sources`}</p>`}`,
  ],
  ["Last use", ({ last_used_at }) => (last_used_at === null ? "none yet" : formatTime(last_used_at))],
  ["Expires", ({ expires_at }) => (expires_at === null ? "never" : formatTime(expires_at))],
];

interface FormProps {
  onClose(): void;
  /** With the key, if one was created. */
  onDone(made: string | null): void;
}

const SCOPES = [
  ["read", "see everything and play video"],
  ["publish", "publish streams and send telemetry"],
  ["operate", "read, publish, and change sources, processes, outputs, alerts and graphs"],
  ["admin", "all of it, and manage keys and accounts"],
] as const;

function CreateKey({ onClose, onDone }: FormProps) {
  const { value: sources } = useQuery((signal) => windhover.listSources({ limit: 1000 }, { signal }), []);
  const { value: accounts } = useQuery((signal) => windhover.listAccounts({ signal }), []);
  const form = useSubmit(async (data) => {
    const chosen = data.getAll("source").map(String);
    const { key } = await windhover.createKey({
      body: {
        name: String(data.get("name")).trim(),
        scopes: data.getAll("scope") as Key["scopes"][number][],
        ...(chosen.length > 0 && { source_uuids: chosen }),
        ...readExpiry(data),
        ...(data.get("username") !== null && { username: String(data.get("username")) }),
      },
    });
    onDone(key);
  });
  const names = accounts?.accounts.map(({ username }) => username) ?? [];
  return html`
    <${FormDialog} title="Create a key" action="Create" ...${form} onClose=${onClose}>
      <${Input} label="Name" name="name" path="/name" required maxlength="100" autofocus placeholder="drone 7" />
      <${ScopeFields} />
      ${names.length > 1 && html`<${Select} label="Account" name="username" options=${names.map((name) => [name, name])} />`}
      ${
        sources !== undefined &&
        sources.sources.length > 0 &&
        html`<details><summary>Only for some sources</summary>
          <fieldset class="stack"><legend class="unseen">Sources</legend>
            ${sources.sources.map(({ uuid, alias }) => html`<label key=${uuid} class="check"><input type="checkbox" name="source" value=${uuid} /> ${alias}</label>`)}
          </fieldset>
        </details>`
      }
      <${ExpiryField} />
    </${FormDialog}>
  `;
}

const ScopeFields = () => {
  const { text } = useFault("/scopes", "Rights", null);
  return html`
    <fieldset class="stack"><legend>Rights</legend>
      ${SCOPES.map(([scope, meaning]) => html`<label key=${scope} class="check"><input type="checkbox" name="scope" value=${scope} defaultChecked=${scope === "read"} /> <span><strong>${scope}</strong>: ${meaning}</span></label>`)}
    </fieldset>
    ${text}
  `;
};

const ExpiryField = ({ expires = null }: { expires?: string | null }) => html`
  <${Input} label="Expires" hint="Local time. Empty: the key does not expire." name="expires" path="/expires_at" type="datetime-local" defaultValue=${expires === null ? "" : toLocal(expires)} />
`;

/** As a field of type `datetime-local` has it. */
function toLocal(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function readExpiry(data: FormData): { expires_at: string | null } {
  const text = String(data.get("expires") ?? "");
  return { expires_at: text === "" ? null : new Date(text).toISOString() };
}

const OVERLAPS = [
  ["0", "at once"],
  ["3600", "after an hour"],
  ["86400", "after a day"],
  ["604800", "after a week"],
];

function RotateKey({ known, onClose, onDone }: FormProps & { readonly known: Key }) {
  const form = useSubmit(async (data) => {
    const body = { overlap_seconds: Number(data.get("overlap")) };
    onDone((await windhover.rotateKey({ key_uuid: known.uuid, body })).key);
  });
  return html`
    <${FormDialog} title=${`Rotate ${known.name}`} action="Rotate" ...${form} onClose=${onClose}>
      <p>A new key with the same rights replaces <code>${known.prefix}…</code>.</p>
      <${Select} label="The old key expires" name="overlap" options=${OVERLAPS} selected="86400" />
    </${FormDialog}>
  `;
}

function ChangeKey({ known, onClose, onDone }: FormProps & { readonly known: Key }) {
  const form = useSubmit(async (data) => {
    const body = { name: String(data.get("name")).trim(), ...readExpiry(data) };
    await windhover.changeKey({ key_uuid: known.uuid, body });
    onDone(null);
  });
  return html`
    <${FormDialog} title=${`Change ${known.name}`} action="Save" ...${form} onClose=${onClose}>
      <${Input} label="Name" name="name" path="/name" required maxlength="100" defaultValue=${known.name} autofocus />
      <${ExpiryField} expires=${known.expires_at} />
      <p class="hint">Rights cannot be changed: create another key.</p>
    </${FormDialog}>
  `;
}

const MadeKey = ({ made, onClose }: { made: string; onClose: () => void }) => html`
  <${Dialog} title="New key" onClose=${onClose}>
    <div class="body"><p>It is not stored, and cannot be shown again.</p><${Copyable} label="key" text=${made} /></div>
    <footer><button type="button" class="primary" onClick=${onClose}>Done</button></footer>
  </${Dialog}>
`;
