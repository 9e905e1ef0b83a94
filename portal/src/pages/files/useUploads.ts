import { useCallback, useEffect, useRef, useState } from "react";

import { sendFile } from "./calls";
import { joined, type Place } from "./view";
import { ApiProblem } from "@/api/client";

export interface Transfer {
  id: number;
  name: string;
  size: number;
  done: number;
  state: "checking" | "sending" | "stopped" | "exists" | "failed";
  error: unknown;
}

export interface Uploads {
  transfers: readonly Transfer[];
  start: (files: readonly File[]) => void;
  /** Goes on with one that stopped. */
  resume: (id: number, isOverwriting?: boolean) => void;
  cancel: (id: number) => void;
  dismiss: (id: number) => void;
}

interface Known {
  file: File;
  control: AbortController;
}

/** The files that are being sent to a folder. Each can be stopped, and goes on from where it was. */
export function useUploads(place: Place, onDone: () => void): Uploads {
  const [transfers, setTransfers] = useState<readonly Transfer[]>([]);
  const known = useRef(new Map<number, Known>());
  const next = useRef(1);
  useEffect(() => {
    const all = known.current;
    return () => all.forEach(({ control }) => control.abort());
  }, []);

  const change = useCallback((id: number, part: Partial<Transfer>) => {
    setTransfers((old) => old.map((each) => (each.id === id ? { ...each, ...part } : each)));
  }, []);
  const dismiss = useCallback((id: number) => {
    known.current.delete(id);
    setTransfers((old) => old.filter((each) => each.id !== id));
  }, []);

  const send = useCallback(
    async (id: number, file: File, isOverwriting: boolean) => {
      const control = new AbortController();
      known.current.set(id, { file, control });
      change(id, { state: "checking", error: null });
      const to = { ...place, path: joined(place.path, file.name) };
      try {
        await sendFile(to, file, isOverwriting, control.signal, ({ kind, done }) => change(id, { state: kind, done }));
        dismiss(id);
        onDone();
      } catch (error) {
        const state = control.signal.aborted ? "stopped" : isTaken(error) ? "exists" : "failed";
        change(id, { state, error: state === "failed" ? error : null });
      }
    },
    [place, change, dismiss, onDone],
  );

  const start = useCallback(
    (files: readonly File[]) => {
      for (const file of files) {
        const id = next.current++;
        const transfer: Transfer = { id, name: file.name, size: file.size, done: 0, state: "checking", error: null };
        setTransfers((old) => [...old, transfer]);
        void send(id, file, false);
      }
    },
    [send],
  );
  const resume = useCallback(
    (id: number, isOverwriting = false) => {
      const found = known.current.get(id);
      if (found) void send(id, found.file, isOverwriting);
    },
    [send],
  );
  const cancel = useCallback((id: number) => known.current.get(id)?.control.abort(), []);
  return { transfers, start, resume, cancel, dismiss };
}

const isTaken = (error: unknown): boolean =>
  error instanceof ApiProblem && error.status === 409 && error.problem.received === undefined;
