import { Anchor, Group, NumberInput, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { TabProps } from "../JobPage";
import { answer, api } from "@/api/client";
import { queries } from "@/api/queries";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { fill, useWords } from "@/words/language";

const USUAL_PORT = 6006; // TensorBoard

/** Makes a link to a page that the job serves, such as TensorBoard or Jupyter. */
export function PageDialog({ reference, job, onClose }: TabProps & { onClose: () => void }) {
  const words = useWords();
  const { dialogs } = words.job;
  const tasks = useQuery(queries.tasks(reference));
  const [chosen, setPort] = useState<number | string>("");
  const [path, setPath] = useState("/");
  const port = Number(chosen) || (tasks.data?.items[0]?.ports[0] ?? USUAL_PORT);
  const making = useMutation({
    mutationFn: () =>
      answer(api.POST("/api/v1/jobs/{ref}/page", { params: { path: { ref: job.id } }, body: { port, path } })),
  });
  return (
    <ConfirmDialog
      isOpen
      title={fill(dialogs.page, { name: job.name })}
      text={dialogs.pageText}
      commands={[`muster open ${job.id} --port ${port}${path === "/" ? "" : ` --path ${quoted(path)}`}`]}
      confirm={dialogs.open}
      isPending={making.isPending}
      isReady={!making.data}
      error={making.error}
      onConfirm={() => making.mutate()}
      onClose={onClose}
    >
      <Group grow>
        <NumberInput label={dialogs.port} min={1} max={65_535} value={chosen || port} onChange={setPort} />
        <TextInput label={dialogs.path} value={path} onChange={(event) => setPath(event.currentTarget.value)} />
      </Group>
      {making.data && isWebAddress(making.data.url) && (
        <Anchor href={making.data.url} target="_blank" rel="noopener noreferrer" size="sm">
          {dialogs.opened} {dialogs.openLink}
        </Anchor>
      )}
    </ConfirmDialog>
  );
}

const isWebAddress = (url: string): boolean => /^https?:\/\//.test(url);
