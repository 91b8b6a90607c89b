/** All pages, in the order of the navigation. A page is a folder below `pages/`, loaded on first use. */
import type { ComponentType } from "preact";

export interface Page {
  /** First segment of its address. */
  readonly name: string;
  readonly title: string;
  load(): Promise<ComponentType>;
}

export const PAGES: readonly Page[] = [
  { name: "live", title: "Live", load: async () => (await import("./pages/live/live.ts")).Live },
  { name: "sources", title: "Sources", load: async () => (await import("./pages/sources/sources.ts")).Sources },
  {
    name: "processes",
    title: "Processes",
    load: async () => (await import("./pages/processes/processes.ts")).Processes,
  },
  { name: "map", title: "Map", load: async () => (await import("./pages/map/map.ts")).MapPage },
  { name: "reports", title: "Reports", load: async () => (await import("./pages/reports/reports.ts")).Reports },
  { name: "alerts", title: "Alerts", load: async () => (await import("./pages/alerts/alerts.ts")).Alerts },
  { name: "webhooks", title: "Webhooks", load: async () => (await import("./pages/webhooks/webhooks.ts")).Webhooks },
  {
    name: "recordings",
    title: "Recordings",
    load: async () => (await import("./pages/recordings/recordings.ts")).Recordings,
  },
  { name: "graphs", title: "Graphs", load: async () => (await import("./pages/graphs/graphs.ts")).Graphs },
  { name: "usage", title: "Usage", load: async () => (await import("./pages/usage/usage.ts")).Usage },
];
