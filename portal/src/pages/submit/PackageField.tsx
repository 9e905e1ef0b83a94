import { Button, Group, Progress, Text } from "@mantine/core";
import { useRef, useState, type DragEvent } from "react";

import classes from "./SubmitPage.module.css";
import { usePackageUpload } from "./usePackageUpload";
import { bytesText } from "@/parts/amounts";
import { ProblemBox } from "@/parts/feedback";
import { CrossIcon, UploadIcon } from "@/parts/icons";
import { chosenByDrop, chosenInDialog } from "@/transfer/chosen";
import type { ChosenFile } from "@/transfer/packing";
import { fill, plural, useLanguage } from "@/words/language";

/** A package that the server has. */
export interface SentPackage {
  digest: string;
  files: number;
  bytes: number;
}

interface PackageFieldProps {
  /** The folder that the job file names. */
  folder: string | null;
  /** The files of the template that the job begins with. */
  offered: readonly ChosenFile[];
  sent: SentPackage | null;
  onSent: (sent: SentPackage | null) => void;
}

/** Sends a folder as the job's package: it is packed here, and sent in pieces that can be resumed. */
export function PackageField({ folder, offered, sent, onSent }: PackageFieldProps) {
  const { language, words } = useLanguage();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const upload = usePackageUpload(onSent);
  const { state } = upload;
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void chosenByDrop(event.dataTransfer).then(upload.start);
  };
  return (
    <div
      className={classes.drop}
      data-over={isOver}
      role="group"
      aria-label={words.submit.package}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<UploadIcon />}
          onClick={() => input.current?.click()}
          disabled={state.kind === "packing" || state.kind === "sending"}
        >
          {words.submit.chooseFolder}
        </Button>
        <input
          ref={(element) => {
            input.current = element;
            element?.setAttribute("webkitdirectory", "");
          }}
          type="file"
          hidden
          multiple
          aria-label={words.submit.chooseFolder}
          onChange={(event) => {
            const files = chosenInDialog(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
            if (files.length > 0) void upload.start(files);
          }}
        />
        {offered.length > 0 && !sent && (
          <Button variant="default" onClick={() => void upload.start(offered)}>
            {words.submit.templateFiles}
          </Button>
        )}
        <Text size="xs" className="soft">
          {folder ? fill(words.submit.folderOf, { folder }) : words.submit.dropHere}
        </Text>
      </Group>
      {(state.kind === "packing" || state.kind === "sending") && (
        <Group gap="sm" mt={6} wrap="nowrap">
          <Progress
            value={state.total > 0 ? (100 * state.done) / state.total : 0}
            flex={1}
            aria-label={words.submit.package}
          />
          <Text size="xs" role="status">
            {fill(state.kind === "packing" ? words.submit.packing : words.submit.sending, {
              done: bytesText(state.done),
              total: bytesText(state.total),
            })}
          </Text>
          <Button variant="default" size="compact-xs" onClick={upload.cancel}>
            {words.common.cancel}
          </Button>
        </Group>
      )}
      {state.kind === "stopped" && (
        <Group gap="sm" mt={6}>
          {state.error ? <ProblemBox error={state.error} /> : <Text size="sm">{words.submit.cancelled}</Text>}
          <Button variant="default" onClick={upload.resume}>
            {words.submit.resume}
          </Button>
        </Group>
      )}
      {state.kind === "tooLarge" && (
        <Text size="sm" role="alert">
          {fill(words.submit.tooLarge, {
            size: bytesText(state.bytes),
            limit: bytesText(state.limit),
            names: state.biggest.join(", "),
          })}
        </Text>
      )}
      {sent && (
        <Group gap="xs" mt={6}>
          <Text size="sm" role="status">
            {plural(language, words.submit.sent, sent.files, {
              size: bytesText(sent.bytes),
              digest: sent.digest.slice(0, 12),
            })}
          </Text>
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            leftSection={<CrossIcon />}
            onClick={() => onSent(null)}
          >
            {words.submit.withoutPackage}
          </Button>
        </Group>
      )}
    </div>
  );
}
