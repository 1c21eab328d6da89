import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { proveWith, whenSignedOut } from "./api/client.ts";
import { Problem } from "./api/problem.ts";
import { proof, proofRefused, takeProof, whenProofChanges } from "./api/proof.ts";
import { enter, sessionEnded } from "./api/session.ts";
import { keepDraft } from "./screens/policy/draft.ts";
import { createConsoleRouter } from "./shell/router.tsx";
import { applyTheme } from "./shell/theme.ts";
import "./styles.css";

takeProof();
proveWith({ proof, refused: proofRefused });
applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      // A refusal stays a refusal; only a server that is away is asked again.
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
    location.replace("/"); // signed out: nothing that was read stays, in no tab
  } else void enter(queries).catch(() => undefined); // a server that is away is asked again later
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
