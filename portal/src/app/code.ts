import { lazyRouteComponent } from "@tanstack/react-router";

/**
 * The code of pages, which is loaded when they are opened. It is missing while the server does not answer, and for ever
 * on a page that was left open over an upgrade. Then the page begins anew, once, and as soon as there is a server again.
 */
const missing = new WeakSet<Error>();
const KEY = "muster-begun-anew";
const ASK_AGAIN_MS = 2_000;

/** Told by the loader of Vite whenever code or its styles could not be loaded. */
export function watchForMissingCode(): void {
  window.addEventListener("vite:preloadError", ({ payload }) => missing.add(payload));
}

export const isMissingCode = (error: unknown): boolean => error instanceof MissingCode || missing.has(error as Error);

class MissingCode extends Error {}

/** A page whose code is loaded when it is opened. The router would load the window anew even without a server. */
export const page = ((importing: () => Promise<Record<string, unknown>>, name: string) =>
  lazyRouteComponent(
    () =>
      importing().catch((error: unknown) => {
        throw new MissingCode("code of the page is missing", { cause: error });
      }),
    name,
  )) as typeof lazyRouteComponent;

/** Answers false if this has been done before for the same page of the same version, and did not help. */
export async function beginAnew(): Promise<boolean> {
  const attempt = `${await servedVersion()} ${window.location.hash.split("?")[0]}`;
  if (sessionStorage.getItem(KEY) === attempt) return false;
  sessionStorage.setItem(KEY, attempt);
  window.location.reload();
  return true;
}

/** The addresses of the code that the server hands out now, with its digests. Waits for a server that answers. */
async function servedVersion(): Promise<string> {
  for (;;) {
    const text = await fetch("/", { cache: "no-store" }).then(
      (answer) => (answer.ok ? answer.text() : ""),
      () => "",
    );
    const scripts = text.match(/src="[^"]+"/g);
    if (scripts) return scripts.join(" ");
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}
