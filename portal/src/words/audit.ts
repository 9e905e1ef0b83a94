import { auditEn } from "./auditEn";
import { auditZh } from "./auditZh";
import type { Language } from "./language";

const TEXTS: Readonly<Record<Language, Readonly<Record<string, string>>>> = { en: auditEn, zh: auditZh };

export const AUDIT_KINDS: readonly string[] = Object.keys(auditEn);

/** What somebody did; a kind that is newer than this page is shown by its name. */
export const auditText = (language: Language, kind: string): string => TEXTS[language][kind] ?? kind;
