import { Button, Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { SubmitView } from "./view";
import { queries } from "@/api/queries";
import { useMe } from "@/app/session";
import { ChevronIcon } from "@/parts/icons";
import { useWords } from "@/words/language";

const MOST_JOBS = 12;
const WIDEST = "min(480px, calc(100vw - 24px))";

/** What a new job can begin with: a template, or one of the last jobs. */
export function Starts({ view }: { view: SubmitView }) {
  const words = useWords();
  const me = useMe();
  const templates = useQuery(queries.templates());
  const jobs = useQuery(queries.jobs({ owner: me.user, limit: MOST_JOBS }));
  const items = templates.data?.items ?? [];
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronIcon />}>
            {view.template ?? words.submit.templates}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} maw={WIDEST} className="scrolling">
          {items.map((template) => (
            <Menu.Item
              key={`${template.builtIn} ${template.name}`}
              renderRoot={(props) => (
                <Link
                  {...props}
                  to="/submit"
                  search={{ template: template.name, ...(template.builtIn ? { builtIn: true } : {}) }}
                />
              )}
            >
              <strong>{template.name}</strong>
              <br />
              <span className="soft">
                {template.description} {template.builtIn ? "" : template.author}
              </span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronIcon />} disabled={!jobs.data?.items.length}>
            {words.submit.lastJobs}
          </Button>
        </Menu.Target>
        <Menu.Dropdown mah={420} maw={WIDEST} className="scrolling">
          {(jobs.data?.items ?? []).map((job) => (
            <Menu.Item key={job.id} renderRoot={(props) => <Link {...props} to="/submit" search={{ from: job.id }} />}>
              {job.name} <span className="soft">{job.id}</span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
