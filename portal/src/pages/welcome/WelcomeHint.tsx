import { Alert, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { queries } from "@/api/queries";
import { useIsAdmin } from "@/app/session";
import { useWords } from "@/words/language";

/** Shows admins the way to the first steps as long as there is no job. */
export function WelcomeHint() {
  const words = useWords();
  const isAdmin = useIsAdmin();
  const jobs = useQuery({ ...queries.jobTotal({}), enabled: isAdmin });
  if (!isAdmin || jobs.data?.total !== 0) return null;
  return (
    <Alert mb="sm" title={words.welcome.hint}>
      <Button renderRoot={(props) => <Link {...props} to="/welcome" />}>{words.welcome.begin}</Button>
    </Alert>
  );
}
