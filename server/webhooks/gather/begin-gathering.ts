import type { EventType } from "../../../schemas/api/webhooks.ts";
import type { Gatherer, GatherRule, ToldBefore } from "./gatherer.ts";
import { NOTHING_TOLD } from "./gatherer.ts";
import { NewTracksGatherer } from "./new-tracks.ts";
import { TargetCountGatherer } from "./target-count.ts";

const GATHERERS: Readonly<Record<EventType, new (rule: GatherRule, before: ToldBefore) => Gatherer>> = {
  "new-tracks": NewTracksGatherer,
  "target-count": TargetCountGatherer,
};

export const beginGathering = (rule: GatherRule, before: ToldBefore = NOTHING_TOLD): Gatherer =>
  new GATHERERS[rule.eventType](rule, before);
