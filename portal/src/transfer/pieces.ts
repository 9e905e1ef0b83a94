import { ApiProblem, Unreachable } from "@/api/client";

export const PIECE_BYTES = 4 << 20;
const TRIES = 4;
const FIRST_PAUSE_MS = 500;

/** How the server is asked for one upload. */
export interface PieceUpload {
  /** How much the server has already. */
  received: () => Promise<Received>;
  put: (offset: number, piece: Blob) => Promise<Received>;
}

export interface Received {
  received: number;
  complete: boolean;
}

/**
 * Sends what the server does not have yet, in pieces, as the command line does. A server that is away for a moment is
 * asked again; after that the caller may call once more, and it goes on from where it stopped.
 */
export async function sendPieces(
  content: Blob,
  upload: PieceUpload,
  signal: AbortSignal,
  tell: (bytes: number) => void,
  pieceBytes: number = PIECE_BYTES,
): Promise<void> {
  let { received, complete } = await known(upload);
  tell(complete ? content.size : received);
  let failures = 0;
  while (!complete) {
    signal.throwIfAborted();
    try {
      const answer = await upload.put(received, content.slice(received, received + pieceBytes));
      ({ received, complete } = answer);
      failures = 0;
    } catch (error) {
      const right = offsetOf(error);
      if (right !== null && right !== received) received = right;
      else if (isPassing(error) && failures < TRIES) await pause(FIRST_PAUSE_MS * 2 ** failures++, signal);
      else throw error;
    }
    tell(complete ? content.size : received);
  }
}

async function known(upload: PieceUpload): Promise<Received> {
  try {
    return await upload.received();
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return { received: 0, complete: false };
    throw error;
  }
}

/** The offset that the server wants instead of the one that it was given. */
const offsetOf = (error: unknown): number | null =>
  error instanceof ApiProblem && error.status === 409 ? (error.problem.received ?? null) : null;

const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ApiProblem && [429, 502, 503, 504].includes(error.status));

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
