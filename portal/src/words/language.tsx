import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";

import { en } from "./en";
import type { Plural, Words } from "./shape";
import { zh } from "./zh";

export type Language = "en" | "zh";

const STORED = "muster-language";
const LANGUAGES: Record<Language, Words> = { en, zh };
export const LOCALES: Record<Language, string> = { en: "en-GB", zh: "zh-CN" };

interface Spoken {
  language: Language;
  words: Words;
  setLanguage: (language: Language) => void;
}

const Context = createContext<Spoken>({ language: "en", words: en, setLanguage: () => undefined });

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(preferredLanguage);
  useEffect(() => {
    document.documentElement.lang = LOCALES[language];
    localStorage.setItem(STORED, language);
  }, [language]);
  const spoken = useMemo(() => ({ language, words: LANGUAGES[language], setLanguage }), [language]);
  return <Context.Provider value={spoken}>{children}</Context.Provider>;
}

export const useLanguage = (): Spoken => useContext(Context);
export const useWords = (): Words => useContext(Context).words;

/** What was chosen before, or by `?lang=` in the address (`start.js` has read it), else the browser's language. */
export function preferredLanguage(): Language {
  const found = (localStorage.getItem(STORED) ?? navigator.language).toLowerCase();
  return found.startsWith("zh") ? "zh" : "en";
}

export type Values = Record<string, string | number>;

/** Puts values into a text: `fill("{n} nodes", {n: 3})`. */
export const fill = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

export function plural(language: Language, forms: Plural, n: number, values: Values = {}): string {
  const locale = LOCALES[language];
  const form = new Intl.PluralRules(locale).select(n) === "one" ? forms.one : forms.other;
  return fill(form, { n: new Intl.NumberFormat(locale).format(n), ...values });
}

/** The words for a code of the API, such as a state, or the code itself if it is newer than this page. */
export const named = (table: Readonly<Record<string, string>>, code: string): string =>
  Object.hasOwn(table, code) ? (table[code] ?? code) : code;
