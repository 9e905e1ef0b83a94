import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";

import { earliest, useWhenDue } from "@/api/due";
import { queries } from "@/api/queries";

/** When waiting jobs are likely to start, by the id of the job. It is asked for again when the first one should have. */
export function useExpectedStarts(isOn = true): ReadonlyMap<string | null, string> | undefined {
  const { data, refetch } = useQuery({ ...queries.expectedStarts(), enabled: isOn });
  const first = useMemo(() => (data ? earliest(data.values()) : null), [data]);
  useWhenDue(
    isOn ? first : null,
    useCallback(() => void refetch(), [refetch]),
  );
  return data;
}
