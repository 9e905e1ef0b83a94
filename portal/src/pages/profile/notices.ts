import type { Schemas } from "@/api/client";
import { quoted } from "@/parts/Command";

export type Settings = Schemas["NoticeSettingsOut"];
export type Chosen = Schemas["NoticeSettingsIn"];

export const TOPICS = ["succeeded", "failed", "cancelled", "waiting", "alerts"] as const;
export const KINDS = ["webhook", "feishu", "dingtalk", "wecom", "slack"] as const;

/** What the form holds: the same as the settings, all of it as texts. */
export interface Fields {
  on: Chosen["on"];
  mail: string;
  webhook: string;
  webhookSecret: string;
  waitingMinutes: string;
  quietHours: string;
  timeZone: string;
  language: "en" | "zh";
}

export const fieldsOf = (settings: Settings): Fields => ({
  on: TOPICS.filter((topic) => settings.on.includes(topic)),
  mail: settings.mail ?? "",
  webhook: settings.webhook ?? "",
  webhookSecret: settings.webhookSecret ?? "",
  waitingMinutes: String(Math.round(settings.waitingSeconds / 60)),
  quietHours: settings.quietHours ?? "",
  timeZone: settings.timeZone,
  language: settings.language === "zh" ? "zh" : "en",
});

/** As the API takes it. Without a webhook there is no secret. */
export function chosenOf(fields: Fields): Chosen {
  const webhook = KINDS.find((kind) => kind === fields.webhook) ?? null;
  return {
    on: fields.on,
    mail: fields.mail || null,
    webhook,
    webhookSecret: webhook && (fields.webhookSecret || null),
    waiting: Number(fields.waitingMinutes) * 60,
    quietHours: fields.quietHours || null,
    timeZone: fields.timeZone || "UTC",
    language: fields.language,
  };
}

/** The command that chooses the same. */
export function commandOf(fields: Fields): string {
  const options = [
    ...fields.on.map((topic) => `--on ${topic}`),
    `--mail ${quoted(fields.mail)}`,
    `--webhook ${fields.webhook || "none"}`,
    fields.webhook && `--webhook-secret ${quoted(fields.webhookSecret || "NAME")}`,
    `--waiting ${fields.waitingMinutes}m`,
    `--quiet ${quoted(fields.quietHours)}`,
    `--time-zone ${quoted(fields.timeZone || "UTC")}`,
    `--language ${fields.language}`,
  ];
  return `muster notices set ${options.filter(Boolean).join(" ")}`;
}
