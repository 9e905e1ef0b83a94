import { ActionIcon, Button, Group, Menu } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState, type ComponentType } from "react";

import { actsOf, type ActName } from "../acts";
import { ActDialog, type DialogAct } from "./ActDialog";
import { PageDialog } from "./PageDialog";
import { WhatIfDialog } from "./WhatIfDialog";
import type { TabProps } from "../JobPage";
import { useMayChange } from "@/app/session";
import { CopyIcon, MenuIcon, PauseIcon, PlayIcon, RetryIcon, StopIcon } from "@/parts/icons";
import { useWords } from "@/words/language";

/** Those that have a button of their own; the others are in the menu. */
const BUTTONS: Partial<Record<ActName, ComponentType>> = {
  stop: StopIcon,
  hold: PauseIcon,
  resume: PlayIcon,
  retry: RetryIcon,
  clone: CopyIcon,
};
type Open = ActName | "page" | null;

/** What the reader may do with the job in its state. What would be refused is not shown. */
export function Actions({ reference, job }: TabProps) {
  const words = useWords();
  const mayChange = useMayChange(job);
  const [open, setOpen] = useState<Open>(null);
  const acts = actsOf(job, mayChange);
  const inMenu = acts.filter((act) => !BUTTONS[act]);
  const hasPages = mayChange && job.state === "Running";
  const close = () => setOpen(null);
  return (
    <Group gap={6} role="group" aria-label={words.job.acts.label}>
      {acts.map((act) => {
        const Icon = BUTTONS[act];
        if (!Icon) return null;
        const look = { variant: "default", leftSection: <Icon />, ...(act === "stop" && { color: "red" }) } as const;
        return act === "clone" ? (
          <Button
            key={act}
            {...look}
            renderRoot={(props) => <Link {...props} to="/submit" search={{ from: job.id }} />}
          >
            {words.job.acts.clone}
          </Button>
        ) : (
          <Button key={act} {...look} onClick={() => setOpen(act)}>
            {words.job.acts[act]}
          </Button>
        );
      })}
      {(inMenu.length > 0 || hasPages) && (
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" size={30} aria-label={words.job.acts.more}>
              <MenuIcon />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {hasPages && <Menu.Item onClick={() => setOpen("page")}>{words.job.acts.page}</Menu.Item>}
            {inMenu.map((act) => (
              <Menu.Item key={act} onClick={() => setOpen(act)} {...(act === "delete" && { color: "red" })}>
                {words.job.acts[act]}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {open === "whatIf" && <WhatIfDialog reference={reference} job={job} onClose={close} />}
      {open === "page" && <PageDialog reference={reference} job={job} onClose={close} />}
      {open && open !== "whatIf" && open !== "page" && open !== "clone" && (
        <ActDialog act={open satisfies DialogAct} job={job} onClose={close} />
      )}
    </Group>
  );
}
