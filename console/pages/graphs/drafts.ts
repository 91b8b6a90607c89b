/** What somebody wrote of a graph and did not finish: it is there when they come back, for as long as this tab lives. */

const nameOf = (graph: string): string => `windhover-draft-${graph}`;

export const readDraft = (graph: string): string | null => sessionStorage.getItem(nameOf(graph));

/** `text` as the graph has it: there is none any more. */
export function keepDraft(graph: string, text: string, original: string): void {
  if (text === original) sessionStorage.removeItem(nameOf(graph));
  else sessionStorage.setItem(nameOf(graph), text);
}
