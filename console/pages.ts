/** All pages, in the order of the navigation. A page is a folder below `pages/`, loaded on first use. */
import type { ComponentType } from "preact";

export interface Page {
  /** First segment of its address: its title in lower case. */
  readonly name: string;
  readonly title: string;
  /** In the menu `Manage` of the navigation. */
  readonly isForManaging: boolean;
  /** Shown in the navigation only to operators. */
  readonly isForOperators: boolean;
  load(): Promise<ComponentType>;
}

type Options = Partial<Pick<Page, "isForManaging" | "isForOperators">>;

const page = (title: string, load: Page["load"], options: Options = {}): Page => ({
  ...{ name: title.toLowerCase(), title, load, isForManaging: false, isForOperators: false },
  ...options,
});

const manage = (title: string, load: Page["load"], options: Options = {}): Page =>
  page(title, load, { isForManaging: true, ...options });

export const PAGES: readonly Page[] = [
  page("Live", async () => (await import("./pages/live/live.ts")).Live),
  page("Sources", async () => (await import("./pages/sources/sources.ts")).Sources),
  page("Processes", async () => (await import("./pages/processes/processes.ts")).Processes),
  page("Map", async () => (await import("./pages/map/map.ts")).MapPage),
  page("Reports", async () => (await import("./pages/reports/reports.ts")).Reports),
  page("Review", async () => (await import("./pages/review/review.ts")).Review),
  page("Alerts", async () => (await import("./pages/alerts/alerts.ts")).Alerts),
  page("Recordings", async () => (await import("./pages/recordings/recordings.ts")).Recordings),
  manage("Graphs", async () => (await import("./pages/graphs/graphs.ts")).Graphs),
  manage("Webhooks", async () => (await import("./pages/webhooks/webhooks.ts")).Webhooks),
  manage("Keys", async () => (await import("./pages/keys/keys.ts")).Keys),
  manage("Usage", async () => (await import("./pages/usage/usage.ts")).Usage),
  manage("Nodes", async () => (await import("./pages/nodes/nodes.ts")).Nodes, { isForOperators: true }),
];
