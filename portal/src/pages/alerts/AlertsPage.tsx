import { Title } from "@mantine/core";

import { AlertList } from "./AlertList";
import { useWords } from "@/words/language";

export function AlertsPage() {
  const words = useWords();
  return (
    <>
      <Title order={1} size="h3" mb="xs">
        {words.alerts.title}
      </Title>
      <AlertList />
    </>
  );
}
