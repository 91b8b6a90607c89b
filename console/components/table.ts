/** Tables. On a phone a row is a card, and its cells are labelled with the name of their column. */
import { html, type Markup } from "../html.ts";

export type Column<T> = readonly [name: string, cell: (row: T) => Markup];

interface TableProps<T> {
  readonly label?: string;
  readonly rows: readonly T[];
  /** The first one names the row. */
  readonly columns: readonly Column<T>[];
  /** Default: its uuid. */
  keyOf?(row: T): string;
  /** Buttons and links of a row. */
  actions?(row: T): Markup;
}

export const Table = <T>({ label, rows, columns, keyOf = uuidOf, actions }: TableProps<T>) => html`
  <table class="cards" aria-label=${label}>
    <thead><tr>${columns.map(([name]) => html`<th>${name}</th>`)}${actions && html`<th><span class="unseen">Actions</span></th>`}</tr></thead>
    <tbody>${rows.map(
      (row) => html`
        <tr key=${keyOf(row)}>
          ${columns.map(([name, cell], i) => html`<td data-name=${i === 0 ? undefined : name}>${cell(row)}</td>`)}
          ${actions && html`<td>${actions(row)}</td>`}
        </tr>
      `,
    )}</tbody>
  </table>
`;

const uuidOf = (row: unknown): string => (row as { readonly uuid: string }).uuid;
