/** Receives the events of a rule that the graph has itself, so that they have destinations. It evaluates nothing. */
import { Type } from "typebox";
import { AlertRule, GRAPH_RULE } from "../../../schemas/alerts.ts";
import { type AlertType, exampleOutput, NO_EVENTS, none } from "../alert-type.ts";

const RULE = "None: the rule of the graph has its own.";

export const graphRule: AlertType = {
  name: GRAPH_RULE,
  about:
    "Delivers the events of a rule that a graph has itself, in `rules` of its element `alerts`: `rule` is its name, `alert`. Events are those of the rule, with its type. Processes whose graph has no such rule send none.",
  schemas: {
    trigger: none(RULE),
    region: none(RULE),
    filter: none(RULE),
    parameters: Type.Object(
      { rule: Type.String({ ...AlertRule.properties.alert, description: "Name of the rule: `alert` in the graph." }) },
      { additionalProperties: false, description: "Which rule of the graph." },
    ),
  },
  example: {
    alias: "Someone came in",
    type: GRAPH_RULE,
    parameters: { rule: "in" },
    output: exampleOutput("alerts/in"),
  },
  check: () => [],
  create: () => ({ see: () => NO_EVENTS, forget() {} }),
};
