/** What the address of the submit page says: the job to begin with. */
export interface SubmitView {
  /** A job to clone. */
  from?: string;
  template?: string;
  /** Whether the template is one of Muster's own. */
  builtIn?: boolean;
}

export function readSubmitView(search: Record<string, unknown>): SubmitView {
  const view: SubmitView = {};
  const from = typeof search.from === "number" ? String(search.from) : search.from;
  if (typeof from === "string" && from) view.from = from;
  else if (typeof search.template === "string" && search.template) view.template = search.template;
  if (view.template && search.builtIn === true) view.builtIn = true;
  return view;
}
