import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { Command, quoted } from "@/parts/Command";
import { Loading, ProblemBox } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

/** Who a user is at identity providers, and links to them. */
export function Identities({ user, onClose }: { user: Schemas["UserOut"]; onClose: () => void }) {
  const words = useWords();
  const client = useQueryClient();
  const [subject, setSubject] = useState("");
  const identities = useQuery(queries.identities(user.name));
  const params = { path: { name: user.name } };
  const asked = { onSuccess: () => void client.invalidateQueries({ queryKey: ["users", user.name, "identities"] }) };
  const linking = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/users/{name}/identities", { params, body: { subject } })),
    ...asked,
  });
  const unlinking = useMutation({
    mutationFn: (gone: string) =>
      answer(api.DELETE("/api/v1/users/{name}/identities", { params: { ...params, query: { subject: gone } } })),
    ...asked,
  });
  const error = identities.error ?? linking.error ?? unlinking.error;
  return (
    <Modal opened onClose={onClose} title={fill(words.admin.identitiesOf, { name: user.name })} size="lg">
      <Stack gap="sm">
        {error && <ProblemBox error={error} />}
        {identities.isPending && <Loading />}
        {identities.data?.items.length === 0 && <Text size="sm">{words.admin.noIdentities}</Text>}
        {identities.data?.items.map((each) => (
          <Group key={each.subject} gap="xs" justify="space-between">
            <Text size="sm">
              {each.subject}{" "}
              <Text span size="xs" className="soft">
                {each.issuer}
              </Text>
            </Text>
            <Button variant="default" size="compact-xs" onClick={() => unlinking.mutate(each.subject)}>
              {words.admin.unlink}
            </Button>
          </Group>
        ))}
        <Group gap="xs" align="end">
          <TextInput
            label={words.admin.subject}
            value={subject}
            onChange={(event) => setSubject(event.currentTarget.value)}
          />
          <Button disabled={!subject} loading={linking.isPending} onClick={() => linking.mutate()}>
            {words.admin.link}
          </Button>
        </Group>
        <Command line={`muster users link ${quoted(user.name)} --subject ${quoted(subject || "SUBJECT")}`} />
      </Stack>
    </Modal>
  );
}
