import { answer, api } from "@/api/client";

/** A link that logs a browser in has its ticket behind `#`, where neither servers nor logs see it. */
export interface Ticket {
  ticket: string;
  /** Where to go afterwards. */
  target: string;
}

export function readTicket(hash: string): Ticket | null {
  const match = /^#login=([^&]+)(?:&(.*))?$/.exec(hash);
  if (!match?.[1]) return null;
  return { ticket: decoded(match[1]), target: match[2]?.startsWith("/") ? match[2] : "/" };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a torn link: the server will say that it is not valid
  }
}

/** Takes the ticket out of the address at once, so that it is not kept, and logs in with it. Answers what went wrong. */
export async function enterByTicket(): Promise<unknown> {
  const found = readTicket(window.location.hash);
  if (!found) return null;
  window.history.replaceState(null, "", `#${found.target}`);
  try {
    await answer(api.POST("/api/v1/login", { body: { ticket: found.ticket, name: "browser" } }));
    return null;
  } catch (error) {
    return error;
  }
}

/** A link that is opened in a window that shows the portal already changes only what stands behind `#`. */
export function watchForTickets(): void {
  window.addEventListener("hashchange", () => {
    if (readTicket(window.location.hash)) window.location.reload();
  });
}
