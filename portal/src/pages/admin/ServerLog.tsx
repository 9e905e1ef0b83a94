import { Group, SegmentedControl, Switch, Text } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { isGrave } from "./entries";
import classes from "./ServerLog.module.css";
import { useServerLog } from "./useServerLog";
import { LEVELS, type Level } from "./view";
import { ApiProblem } from "@/api/client";
import { timeText } from "@/parts/amounts";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Scrolled } from "@/parts/Scrolled";
import { WithCode } from "@/parts/WithCode";
import { useLanguage } from "@/words/language";

const NOT_FOUND = 404;
const route = getRouteApi("/admin");

/** The server's own log, the newest last; it grows while it is followed. */
export function ServerLog() {
  const { language, words } = useLanguage();
  const { level = "all" } = route.useSearch();
  const navigate = useNavigate({ from: "/admin" });
  const [isFollowing, setFollowing] = useState(true);
  const { log, entries } = useServerLog(isFollowing);
  if (log.error instanceof ApiProblem && log.error.status === NOT_FOUND) {
    return (
      <EmptyState title={words.admin.noLogFile}>
        <Text size="sm">
          <WithCode text={words.admin.noLogFileHow} />
        </Text>
      </EmptyState>
    );
  }
  if (log.error) return <ProblemBox error={log.error} onRetry={() => void log.refetch()} />;
  if (!log.data) return <Loading />;
  const shown = entries.filter((entry) => isGrave(entry, level));
  return (
    <>
      <Group gap="md" mb="xs">
        <SegmentedControl
          aria-label={words.admin.level}
          data={LEVELS.map((value) => ({ value, label: words.admin.levels[value] }))}
          value={level}
          onChange={(value: Level) =>
            void navigate({ search: value === "all" ? { tab: "log" } : { tab: "log", level: value }, replace: true })
          }
        />
        <Switch
          label={words.admin.follow}
          checked={isFollowing}
          onChange={(event) => setFollowing(event.currentTarget.checked)}
        />
        <Command line="muster server logs -f" />
      </Group>
      {shown.length === 0 ? (
        <EmptyState title={words.admin.noLog} />
      ) : (
        <Scrolled label={words.admin.tabs.log}>
          <ol className={classes.log}>
            {shown.map((entry, index) => (
              <li key={index} data-level={entry.level}>
                <span className="soft">{timeText(language, entry.at)}</span> <strong>{entry.level}</strong>{" "}
                {entry.event} <span className="soft">{entry.rest}</span>
              </li>
            ))}
          </ol>
        </Scrolled>
      )}
    </>
  );
}
