import { useCallback, useEffect, useRef, useState } from "react";

import type { SentPackage } from "./PackageField";
import { answer, api } from "@/api/client";
import { bytesText } from "@/parts/amounts";
import { filesToSend, PACKAGE_LIMIT_BYTES, packed, type ChosenFile, type Packed } from "@/transfer/packing";
import { sendPieces } from "@/transfer/pieces";

export type UploadState =
  | { kind: "idle" }
  | { kind: "packing" | "sending"; done: number; total: number }
  | { kind: "stopped"; error: unknown }
  | { kind: "tooLarge"; bytes: number; limit: number; biggest: string[] };

const BIGGEST_SHOWN = 5;

/** Packs a folder and sends it. What was packed is kept until the server has it, so that sending can go on. */
export function usePackageUpload(onSent: (sent: SentPackage) => void) {
  const [state, setState] = useState<UploadState>({ kind: "idle" });
  const control = useRef(new AbortController());
  const chosen = useRef<readonly ChosenFile[]>([]);
  const made = useRef<Packed | null>(null);
  useEffect(() => () => control.current.abort(), []);

  const resume = useCallback(async () => {
    control.current = new AbortController();
    const { signal } = control.current;
    const files = chosen.current;
    const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
    try {
      setState({ kind: "packing", done: 0, total: bytes });
      made.current ??= await packed(files, signal, (done) => setState({ kind: "packing", done, total: bytes }));
      const { archive, digest } = made.current;
      const tell = (done: number) => setState({ kind: "sending", done, total: archive.size });
      await sendPieces(archive, packageCalls(digest, archive.size, signal), signal, tell);
      setState({ kind: "idle" });
      onSent({ digest, files: files.length, bytes: archive.size });
    } catch (error) {
      setState({ kind: "stopped", error: signal.aborted ? null : error });
    }
  }, [onSent]);

  const start = useCallback(
    async (files: readonly ChosenFile[]) => {
      made.current = null;
      chosen.current = await filesToSend(files);
      const bytes = chosen.current.reduce((sum, { file }) => sum + file.size, 0);
      if (bytes > PACKAGE_LIMIT_BYTES) {
        setState({ kind: "tooLarge", bytes, limit: PACKAGE_LIMIT_BYTES, biggest: biggestOf(chosen.current) });
        return;
      }
      await resume();
    },
    [resume],
  );
  return { state, start, resume: () => void resume(), cancel: () => control.current.abort() };
}

const biggestOf = (files: readonly ChosenFile[]): string[] =>
  [...files]
    .sort((one, other) => other.file.size - one.file.size)
    .slice(0, BIGGEST_SHOWN)
    .map(({ path, file }) => `${path} (${bytesText(file.size)})`);

const packageCalls = (digest: string, size: number, signal: AbortSignal) => ({
  received: () => answer(api.GET("/api/v1/packages/{digest}", { params: { path: { digest } }, signal })),
  put: (offset: number, piece: Blob) =>
    answer(
      api.PUT("/api/v1/packages/{digest}", {
        params: { path: { digest }, query: { size, offset } },
        body: piece as unknown as string,
        bodySerializer: (body) => body as unknown as Blob,
        headers: { "Content-Type": "application/octet-stream" },
        signal,
      }),
    ),
});
