/** Validates the schemas of IPC messages; tests of the API and of elements validate theirs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { ModelCard } from "../models/card.ts";
import { DetectionMessage } from "./detection-message.ts";
import { EnhanceMessage, EnhanceRequest } from "./enhancement.ts";
import { HubMessage, HubRequest } from "./hub.ts";
import { ProbeResult } from "./probe.ts";
import { RunnerMessage, RunnerRequest } from "./runner.ts";
import { TrackReport } from "./track-report.ts";

const ajv = new Ajv2020({ strict: false });
const schemas = {
  ...{ DetectionMessage, EnhanceMessage, EnhanceRequest, HubMessage, HubRequest },
  ...{ ProbeResult, RunnerMessage, RunnerRequest, TrackReport },
};

for (const [name, schema] of Object.entries(schemas))
  test(`${name} is a valid schema`, () => {
    assert.ok(ajv.validateSchema(schema), ajv.errorsText());
  });

test("ModelCard is a valid schema", () => {
  const draft7 = new Ajv({ strict: false });
  assert.ok(draft7.validateSchema(ModelCard), draft7.errorsText());
});
