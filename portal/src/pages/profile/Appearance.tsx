import { Group, SegmentedControl, Text, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";

import { Section } from "@/parts/Section";
import { useLanguage, type Language } from "@/words/language";

const SCHEMES: MantineColorScheme[] = ["auto", "light", "dark"];
const LANGUAGES: Language[] = ["en", "zh"];

/** Both are kept in this browser. */
export function Appearance() {
  const { language, setLanguage, words } = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  return (
    <Section title={words.profile.appearance}>
      <Group gap="xl">
        <div>
          <Text size="xs" className="soft">
            {words.profile.languageName}
          </Text>
          <SegmentedControl
            aria-label={words.profile.languageName}
            data={LANGUAGES.map((value) => ({ value, label: words.profile.languages[value] }))}
            value={language}
            onChange={setLanguage}
          />
        </div>
        <div>
          <Text size="xs" className="soft">
            {words.profile.colours}
          </Text>
          <SegmentedControl
            aria-label={words.profile.colours}
            data={SCHEMES.map((value) => ({ value, label: words.profile.schemes[value] }))}
            value={colorScheme}
            onChange={setColorScheme}
          />
        </div>
      </Group>
    </Section>
  );
}
