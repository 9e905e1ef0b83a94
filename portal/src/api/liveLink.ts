import { LiveHub, type FromHub, type ToHub } from "./liveHub";

/** Sends what this window says to the hub. */
export type LiveLink = (message: ToHub) => void;

/**
 * The way to the stream of all windows, or to one of this window alone where the browser has no shared workers. The hub
 * hears of a window that is left, and of one that comes back to it.
 */
export function linkToHub(tell: (message: FromHub) => void): LiveLink {
  let said: ToHub = { topics: [], after: 0 };
  let send =
    typeof SharedWorker === "undefined"
      ? ownHub(tell)
      : sharedHub(tell, () => {
          send = ownHub(tell);
          send(said);
        });
  window.addEventListener("pagehide", () => send({ ...said, topics: [] }));
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted) send(said);
  });
  return (message) => {
    said = message;
    send(message);
  };
}

function ownHub(tell: (message: FromHub) => void): LiveLink {
  const hub = new LiveHub();
  const member = { tell };
  return (message) => hub.listen(member, message);
}

function sharedHub(tell: (message: FromHub) => void, onFailure: () => void): LiveLink {
  const worker = new SharedWorker(new URL("./liveWorker.ts", import.meta.url), { type: "module", name: "live" });
  worker.onerror = onFailure;
  worker.port.onmessage = ({ data }: MessageEvent<FromHub>) => tell(data);
  return (message) => worker.port.postMessage(message);
}
