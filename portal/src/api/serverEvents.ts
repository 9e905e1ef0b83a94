/** One event of a stream of server-sent events. `id` is empty if the event has none. */
export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Takes a stream of server-sent events apart, in whatever pieces it arrives. A comment may carry an id, too. */
export class ServerEvents {
  private rest = "";

  feed(piece: string): ServerEvent[] {
    const blocks = (this.rest + piece).split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(eventOf);
  }
}

function eventOf(block: string): ServerEvent {
  const found: ServerEvent = { event: "", data: "", id: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    const name = line.slice(0, colon);
    if (name === "event" || name === "data" || name === "id") found[name] = line.slice(colon + 2);
  }
  return found;
}
