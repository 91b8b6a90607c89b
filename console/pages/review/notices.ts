/** Notices of alerts: the list of those on the time line, and the selected one with its review. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Notice } from "../../../client/client.ts";
import { confirm } from "../../components/dialog.ts";
import { formatCount, formatTime } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";
import { formatMoment } from "./clock.ts";
import type { Mark } from "./history.ts";

/** More would take long to draw; the time line has them all. */
const MAX_SHOWN = 100;

interface NoticeListProps {
  /** Those of the filter, in order of time. */
  readonly marks: readonly Mark[];
  /** Of the day, whatever the filter. */
  readonly total: number;
  readonly selected: string | null;
  readonly ofFile: boolean;
  onSelect(mark: Mark): void;
}

export function NoticeList({ marks, total, selected, ofFile, onSelect }: NoticeListProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const item = list.current?.querySelector<HTMLElement>("[aria-current]");
    const box = list.current;
    // Not `scrollIntoView`, which would scroll the page, too.
    if (!item || !box) return;
    const top = item.offsetTop - box.offsetTop;
    if (top < box.scrollTop || top + item.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = top - box.clientHeight / 3;
  }, [selected]);
  if (total === 0)
    return html`<p class="hint">No alert was triggered in this time. <a href=${linkTo("alerts", "new")}>Create an alert</a> to be notified here; it needs no destination.</p>`;
  if (marks.length === 0)
    return html`<p class="hint">No notice matches the filter (${formatCount(total, "notice")} without it).</p>`;
  // The newest first; those around the selected one.
  const newest = marks.toReversed();
  const place = newest.findIndex(({ uuid }) => uuid === selected);
  const begin = Math.max(0, Math.min(place - MAX_SHOWN / 2, newest.length - MAX_SHOWN));
  const shown = newest.slice(begin, begin + MAX_SHOWN);
  return html`
    <ul class="notice-list" ref=${list} aria-label="Notices" tabindex="0">
      ${shown.map(
        (mark) => html`
          <li key=${mark.uuid}>
            <button type="button" class="plain" aria-current=${mark.uuid === selected ? "true" : undefined} onClick=${() => onSelect(mark)}>
              <span class=${mark.reviewed ? "diamond reviewed" : "diamond"} aria-hidden="true"></span>
              <span class="what"><strong>${mark.alias}</strong><span class="hint">${mark.classes.join(", ") || mark.event}</span></span>
              <span class="hint time">${formatMoment(mark.atMs, ofFile)}${mark.reviewed && html`<span class="done">reviewed</span>`}</span>
            </button>
          </li>
        `,
      )}
    </ul>
    ${newest.length > shown.length && html`<p class="hint">${shown.length} of ${newest.length}; all of them are on the time line.</p>`}
  `;
}

/** Of alerts with evidence. */
type WithEvidence = Notice & { readonly snapshot_url?: string | null; readonly clip_url?: string | null };

interface NoticePanelProps {
  readonly uuid: string;
  readonly isReviewed: boolean;
  /** After a change. */
  onChange(): void;
  onDeleted(): void;
  onClose(): void;
}

/** The selected notice. */
export function NoticePanel({ uuid, isReviewed, onChange, onDeleted, onClose }: NoticePanelProps) {
  const query = useQuery((signal) => windhover.readNotice({ notice_uuid: uuid }, { signal }), [uuid, isReviewed]);
  return html`
    <section class="notice-panel" aria-label="Selected notice">
      ${whenLoaded(query, (notice) => html`<${NoticeDetails} key=${uuid} notice=${notice} onChange=${onChange} onDeleted=${onDeleted} onClose=${onClose} />`)}
    </section>
  `;
}

function NoticeDetails({
  notice,
  onChange,
  onDeleted,
  onClose,
}: Omit<NoticePanelProps, "uuid" | "isReviewed"> & { notice: WithEvidence }) {
  const { uuid: notice_uuid, alias, event, tracks, data, snapshot_url, clip_url } = notice;
  const [comment, setComment] = useState(notice.comment ?? "");
  const { image } = (data.patch ?? {}) as { image?: string };
  const picture = snapshot_url ?? (image === undefined ? null : `data:image/jpeg;base64,${image}`);
  const review = async (reviewed: boolean): Promise<void> => {
    const body = { reviewed, comment: comment.trim() === "" ? null : comment.trim() };
    await attempt(
      () => windhover.reviewNotice({ notice_uuid, body }),
      reviewed ? "Reviewed" : "Marked as not reviewed",
    );
    onChange();
  };
  const save = (submitted: Event): void => {
    submitted.preventDefault();
    void review(true);
  };
  const remove = async (): Promise<void> => {
    const text = "It disappears from the history, with its picture and clip. The recording stays.";
    if (!(await confirm({ title: "Delete this notice?", action: "Delete", text }))) return;
    if (await attempt(() => windhover.deleteNotice({ notice_uuid }), "Notice deleted")) onDeleted();
  };
  return html`
    <div class="row spread head">
      <h2>${alias} <span class="state ${event === "cleared" ? "" : "live"}">${event}</span></h2>
      <button type="button" class="plain" aria-label="Close notice" onClick=${onClose}>✕</button>
    </div>
    <div class="facts-row">
      ${picture !== null && html`<img class="patch" alt=${`Picture of ${alias}`} src=${picture} />`}
      <div>
        <p class="hint">${formatTime(notice.timestamp)}</p>
        <p class="hint">${tracks.map(({ class_name, track_id }) => `${class_name} ${track_id}`).join(", ") || "no tracks"}</p>
        ${notice.reviewed && html`<p class="hint"><span class="state active">reviewed</span> by ${notice.reviewed_by}, ${formatTime(notice.reviewed_at)}</p>`}
        <div class="row links">
          ${snapshot_url != null && html`<a href=${snapshot_url} target="_blank" rel="noopener">Snapshot</a>`}
          ${clip_url != null && html`<a href=${clip_url} target="_blank" rel="noopener">Clip</a>`}
          <a href=${linkTo("processes", notice.process_uuid)}>Process</a>
        </div>
      </div>
    </div>
    <form onSubmit=${save}>
      <label class="unseen" for="notice-comment">Comment</label>
      <textarea id="notice-comment" rows="1" maxlength="2000" placeholder="Comment" value=${comment} onInput=${({ currentTarget }: Event) => setComment((currentTarget as HTMLTextAreaElement).value)}></textarea>
      <div class="row">
        <button class="primary">${notice.reviewed ? "Save comment" : "Mark as reviewed"}</button>
        ${notice.reviewed && html`<button type="button" onClick=${() => void review(false)}>Not reviewed</button>`}
        <button type="button" class="plain danger" onClick=${() => void remove()}>Delete</button>
      </div>
    </form>
  `;
}
