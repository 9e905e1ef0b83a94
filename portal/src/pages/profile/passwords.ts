const SHORTEST = 8;

/** What the server takes as a password; it has the last word. */
export const isLongEnough = (password: string): boolean => password.length >= SHORTEST;
