import "@/theme/styles";

import { MantineProvider } from "@mantine/core";
import { notifications, Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { newQueryClient } from "@/api/asking";
import { ApiProblem } from "@/api/client";
import { watchForMissingCode } from "@/app/code";
import { router } from "@/app/router";
import { Session } from "@/app/session";
import { enterByTicket, watchForTickets } from "@/pages/login/ticket";
import { theme } from "@/theme/theme";
import { LanguageProvider } from "@/words/language";

const client = newQueryClient();

watchForMissingCode();
watchForTickets();
const entryProblem = await enterByTicket();
// Somebody else may be logged in here, and stays so; who is logged in sees no login page that could say it.
if (entryProblem instanceof ApiProblem && entryProblem.status === 409) {
  notifications.show({ color: "red", title: entryProblem.message, message: entryProblem.hint, autoClose: false });
}

// Mantine would write its variables into a style tag, which the content security policy refuses: theme/ has them.
createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <LanguageProvider>
        <QueryClientProvider client={client}>
          <Notifications position="bottom-right" />
          <Session entryProblem={entryProblem}>
            <RouterProvider router={router} />
          </Session>
        </QueryClientProvider>
      </LanguageProvider>
    </MantineProvider>
  </StrictMode>,
);
