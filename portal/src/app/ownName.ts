import { useEffect, useMemo } from "react";

import { useMe } from "./session";

/** How links from before named their reader, whoever that was. */
const MYSELF = "me";

/**
 * The view with the reader's own name in place of `me`. Addresses carry real names, so that a link shows everybody the
 * same list; one with `me` becomes that of its reader.
 */
export function useNamedOwner<V extends { owner?: string }>(view: V, change: (part: { owner: string }) => void): V {
  const { user } = useMe();
  const isUnnamed = view.owner === MYSELF && user !== MYSELF;
  useEffect(() => {
    if (isUnnamed) change({ owner: user });
  }, [isUnnamed, user, change]);
  return useMemo(() => (isUnnamed ? { ...view, owner: user } : view), [isUnnamed, view, user]);
}
