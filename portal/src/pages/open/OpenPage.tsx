import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect } from "react";

import { queries } from "@/api/queries";
import { Loading, ProblemBox } from "@/parts/feedback";

const route = getRouteApi("/open/$ref/$port/$");

/** Leads on to a page that a job serves, in the name of whoever is logged in here. */
export function OpenPage() {
  const { ref, port, _splat } = route.useParams();
  const { data: link, error, refetch } = useQuery(queries.pageLink(ref, Number(port), `/${_splat ?? ""}`));
  useEffect(() => {
    if (link) window.location.replace(link.url);
  }, [link]);
  return error ? <ProblemBox error={error} onRetry={() => void refetch()} /> : <Loading />;
}
