import type { JobColumn } from "./columns";
import { answer, api, type Job } from "@/api/client";
import type { JobQuery } from "@/api/queries";

const ROWS_OF_PAGE = 1_000;
const MOST_ROWS = 50_000;

/** All jobs of a view, as far as a table in a file is still of use. */
export async function allJobs(query: JobQuery): Promise<Job[]> {
  const jobs: Job[] = [];
  let cursor: string | null | undefined = "";
  while (cursor != null && jobs.length < MOST_ROWS) {
    const more: { cursor?: string } = cursor ? { cursor } : {};
    const page = await answer(
      api.GET("/api/v1/jobs", { params: { query: { ...query, limit: ROWS_OF_PAGE, ...more } } }),
    );
    jobs.push(...page.items);
    cursor = page.nextCursor;
  }
  return jobs;
}

export function csvOf(columns: readonly JobColumn[], jobs: readonly Job[]): string {
  const lines = [
    columns.map((column) => column.label),
    ...jobs.map((job) => columns.map((column) => column.plain(job))),
  ];
  return lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** Spreadsheets take a text that begins like a formula for one, so that it gets a quote before it. */
export function csvCell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Begins with a byte order mark, by which spreadsheets know that the text is UTF-8. */
export function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob(["\uFEFF", text], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
