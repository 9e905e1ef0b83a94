/** What the address of the queue says. */
export interface QueueView {
  cluster?: string;
  owner?: string;
  /** Whether jobs that run are listed, too. */
  running?: boolean;
}

export function readQueueView(search: Record<string, unknown>): QueueView {
  const view: QueueView = {};
  if (typeof search.cluster === "string" && search.cluster) view.cluster = search.cluster;
  if (typeof search.owner === "string" && search.owner) view.owner = search.owner;
  if (search.running === true) view.running = true;
  return view;
}
