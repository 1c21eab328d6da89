import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, Navigate, RouterProvider, redirect } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { enter, Problem, sessionEnded, takeProof, whenProofChanges, whenSignedOut } from "./api/index.ts";
import { EmptyState } from "./kit/index.ts";
import { screens, unlisted } from "./routes.tsx";
import { keepDraft } from "./screens/policy/draft.ts";
import { Shell } from "./shell/shell.tsx";
import { applyTheme } from "./shell/theme.ts";
import "./styles.css";

takeProof();
applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      // A refusal is final; only a server that does not answer is asked again.
      retry: (count, error) => count < 3 && !(error instanceof Problem && error.status > 0 && error.status < 500),
    },
    mutations: { retry: false },
  },
});
whenSignedOut(() => sessionEnded(queries));
whenProofChanges((isGone) => {
  if (isGone) {
    keepDraft(undefined);
    queries.clear();
    location.replace("/"); // signed out: what was read is removed from every tab
  } else void enter(queries).catch(() => undefined); // a server that does not answer is asked again later
});

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={createConsoleRouter()} />
    </QueryClientProvider>
  </StrictMode>,
);

/** Makes the paths from the list of screens. */
function createConsoleRouter() {
  const root = createRootRoute({
    component: Shell,
    notFoundComponent: () => <EmptyState icon="search" title="There is no such page here" />,
  });
  const home = createRoute({
    getParentRoute: () => root,
    path: "/",
    beforeLoad: () => {
      throw redirect({ to: "/approvals" });
    },
  });
  const signIn = createRoute({
    getParentRoute: () => root,
    path: "/sign-in",
    component: () => <Navigate to="/approvals" />,
  });
  const ofScreens = [...screens, ...unlisted].flatMap(({ path, component }) => [
    createRoute({ getParentRoute: () => root, path, component }),
    createRoute({ getParentRoute: () => root, path: `${path}/$id`, component }),
  ]);
  return createRouter({ routeTree: root.addChildren([home, signIn, ...ofScreens]), defaultPreload: "intent" });
}
