import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { enter, Problem, sessionEnded, takeProof, whenProofChanges, whenSignedOut } from "./api/index.ts";
import { whenIdle } from "./kit/index.ts";
import { preloadScreens, router } from "./router.tsx";
import { keepDraft } from "./screens/policy/draft.ts";
import { applyTheme } from "./shell/theme.ts";
import "./styles.css";

takeProof();
applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: "always", // a browser that is offline may still reach a Postern on this machine
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

// Not at the sign-in: the first screen comes after it.
const unsubscribe = queries.getQueryCache().subscribe(({ query }) => {
  if (query.queryKey[0] !== "session" || query.state.data == null) return;
  unsubscribe();
  setTimeout(() => whenIdle(() => void preloadScreens()), 1_000);
});

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
