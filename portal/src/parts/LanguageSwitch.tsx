import { Button } from "@mantine/core";

import { useLanguage } from "@/words/language";

/** To the other language, named in that language. */
export function LanguageSwitch() {
  const { language, setLanguage, words } = useLanguage();
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-xs"
      aria-label={words.shell.languageLabel}
      onClick={() => setLanguage(language === "en" ? "zh" : "en")}
    >
      {words.shell.language}
    </Button>
  );
}
