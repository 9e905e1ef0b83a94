import type { Place } from "./view";
import { answer, api, type Schemas } from "@/api/client";
import { digestOf } from "@/transfer/sha256";
import { sendPieces } from "@/transfer/pieces";

type Progress = Schemas["ProgressOut"];

const at = ({ cluster, path, node }: Place) => ({
  path: { cluster },
  query: node ? { path, node } : { path },
});

/** A long operation goes on with each call until it is done. */
async function steps(step: (run: string | undefined) => Promise<Progress>): Promise<Progress> {
  let found = await step(undefined);
  while (!found.done) found = await step(found.run);
  return found;
}

export const stat = (place: Place): Promise<Schemas["FileOut"]> =>
  answer(api.GET("/api/v1/clusters/{cluster}/files/stat", { params: at(place) }));

export const makeFolder = ({ cluster, path, node }: Place): Promise<unknown> =>
  answer(
    api.POST("/api/v1/clusters/{cluster}/files/mkdir", {
      params: { path: { cluster } },
      body: { path, node: node ?? null, parents: false, private: false },
    }),
  );

export const move = (from: Place, to: string): Promise<unknown> =>
  steps((run) =>
    answer(
      api.POST("/api/v1/clusters/{cluster}/files/move", {
        params: { path: { cluster: from.cluster } },
        body: { path: from.path, to, node: from.node ?? null, overwrite: false, run: run ?? null },
      }),
    ),
  );

export const copy = (from: Place, to: string): Promise<unknown> =>
  steps((run) =>
    answer(
      api.POST("/api/v1/clusters/{cluster}/files/copy", {
        params: { path: { cluster: from.cluster } },
        body: { path: from.path, to, node: from.node ?? null, overwrite: false, recursive: true, run: run ?? null },
      }),
    ),
  );

export const remove = (place: Place, isFolder: boolean): Promise<unknown> =>
  steps((run) => {
    const { path, query } = at(place);
    const asked = { ...query, recursive: isFolder, ...(run ? { run } : {}) };
    return answer(api.DELETE("/api/v1/clusters/{cluster}/files", { params: { path, query: asked } }));
  });

export interface Told {
  kind: "checking" | "sending";
  done: number;
}

/** Sends a file in pieces. One that was begun before goes on from where it stopped, as its digest is the same. */
export async function sendFile(
  to: Place,
  content: Blob,
  isOverwriting: boolean,
  signal: AbortSignal,
  tell: (told: Told) => void,
): Promise<void> {
  const { path, query } = at(to);
  const sha256 = await digestOf(content, signal, (done) => tell({ kind: "checking", done }));
  const upload = {
    received: () =>
      answer(
        api.GET("/api/v1/clusters/{cluster}/files/upload", { params: { path, query: { ...query, sha256 } }, signal }),
      ),
    put: (offset: number, piece: Blob) =>
      answer(
        api.PUT("/api/v1/clusters/{cluster}/files/content", {
          params: { path, query: { ...query, sha256, size: content.size, offset, overwrite: isOverwriting } },
          body: piece as unknown as string,
          bodySerializer: (body) => body as unknown as Blob,
          headers: { "Content-Type": "application/octet-stream" },
          signal,
        }),
      ),
  };
  await sendPieces(content, upload, signal, (done) => tell({ kind: "sending", done }));
}
