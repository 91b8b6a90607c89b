/** What the outputs of an alert would send for a sample notification. Nothing is stored, sent or looked up. */
import type { AlertPreview, AlertPreviewRequest } from "../../schemas/api/alerts.ts";
import type { AlertNotice } from "../../schemas/api/events.ts";
import { completeEvidence } from "./alert-evidence.ts";
import { writeMail, writeRequest } from "./outgoing.ts";
import { checkOutputs, type GivenOutput, rejectFaults } from "./outputs.ts";

const UUID = "01890000-0000-7000-8000-000000000001";
const LINK = `https://windhover.example/notice/${UUID}`;

/** Rejects what an alert with these outputs would be rejected for, except for addresses that cannot be reached. */
export function previewOutputs({ alias = "Alert", output, evidence }: AlertPreviewRequest, type: string): AlertPreview {
  const given = output as readonly GivenOutput[];
  rejectFaults(checkOutputs(given));
  const notice = sampleNotice(alias, type, completeEvidence(evidence));
  return { previews: given.map((each) => preview(each, notice)) };
}

function preview(output: GivenOutput, notice: AlertNotice): AlertPreview["previews"][number] {
  if (output.type === "email") {
    const { subject = null, text = null } = output.config;
    const mail = writeMail({ subject, text }, notice);
    return { type: output.type, content_type: "text/plain", subject: mail.subject, body: mail.text };
  }
  const template = output.type === "webhook" ? output.config.template : undefined;
  const content_type = template?.content_type ?? "application/json";
  return { type: output.type, content_type, subject: null, body: writeRequest(template, notice) };
}

function sampleNotice(alias: string, type: string, evidence: ReturnType<typeof completeEvidence>): AlertNotice {
  const track = {
    ...{ track_id: 7, class_id: 0, class_name: "person", confidence: 87.5 },
    bbox: [640, 180, 160, 360] as [number, number, number, number],
    scaled_bbox: [0.5, 0.25, 0.125, 0.5] as [number, number, number, number],
  };
  return {
    ...{ id: UUID, alert_uuid: UUID, alias, type, process_uuid: UUID, source_uuid: UUID },
    ...{ timestamp: new Date().toISOString(), event: "triggered", tracks: [track], data: { count: 1 } },
    ...(evidence !== undefined && { evidence: { state: "pending", missing: [], clip: null } }),
    ...(evidence?.clip !== undefined && { clip_url: `${LINK}/clip?token=SAMPLE` }),
    ...(evidence?.snapshot === true && { snapshot_url: `${LINK}/snapshot?token=SAMPLE` }),
  };
}
