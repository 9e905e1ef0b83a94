import { LiveHub, type FromHub, type ToHub } from "./liveHub";

/** Runs once for all windows of a browser. A window that is closed says so, as a port does not tell. */
const hub = new LiveHub();

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = ({ ports: [port] }) => {
  if (!port) return;
  const member = { tell: (message: FromHub) => port.postMessage(message) };
  port.onmessage = ({ data }: MessageEvent<ToHub>) => hub.listen(member, data);
};
