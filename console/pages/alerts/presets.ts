/** Bodies of webhooks for services that people read. `docs/alerts.md` has the same ones; a test compares them. Pure. */

export interface Preset {
  readonly title: string;
  /** Where the address comes from. */
  readonly hint: string;
  /** Example of an address. */
  readonly url: string;
  readonly body: string;
  readonly contentType: "application/json" | "text/plain";
  readonly headers: Readonly<Record<string, string>>;
}

const JSON_TYPE = { contentType: "application/json", headers: {} } as const;

export const PRESETS: Readonly<Record<string, Preset>> = {
  slack: {
    ...{ title: "Slack", hint: "The address of an incoming webhook of your workspace." },
    url: "https://hooks.slack.com/services/T000/B000/XXXX",
    body: '{"text": "*{{ alert.alias }}*: {{ event }} at {{ timestamp }} {{ snapshot_url }}"}',
    ...JSON_TYPE,
  },
  teams: {
    title: "Microsoft Teams",
    hint: "The address of a workflow “Post to a channel when a webhook request is received”.",
    url: "https://prod-00.westeurope.logic.azure.com/workflows/XXXX/triggers/manual/paths/invoke?sig=XXXX",
    body: `{"type": "message", "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": {
"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
"body": [
{"type": "TextBlock", "weight": "Bolder", "text": "{{ alert.alias }}"},
{"type": "TextBlock", "wrap": true, "text": "{{ event }} at {{ timestamp }}, {{ tracks.length }} tracks"}
]}}]}`,
    ...JSON_TYPE,
  },
  telegram: {
    title: "Telegram",
    hint: "The address has the token of your bot. In the body, replace the number with that of the chat.",
    url: "https://api.telegram.org/bot123456:XXXX/sendMessage",
    body: '{"chat_id": "-1001234567890", "text": "{{ alert.alias }}: {{ event }}\\n{{ clip_url | default: "no clip" }}"}',
    ...JSON_TYPE,
  },
  ntfy: {
    title: "ntfy",
    hint: "The address of your topic. Without an access token, remove the header Authorization.",
    url: "https://ntfy.sh/my-topic",
    body: '{{ alert.alias }}: {{ tracks.0.class_name | default: "nothing" }} ({{ event }}, {{ timestamp }})',
    contentType: "text/plain",
    headers: { Title: "Alert", Priority: "high", Tags: "rotating_light", Authorization: "Bearer tk_XXXX" },
  },
};

/** A webhook sends the notification as JSON, or a template of the user's. */
export const PLAIN = "json";
export const OWN = "own";

/** The name of the preset with this body. */
export const findPreset = (body: string): string =>
  Object.keys(PRESETS).find((name) => PRESETS[name]?.body === body) ?? OWN;
