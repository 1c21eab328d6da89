import { createRootRoute, createRoute, createRouter, Navigate, redirect } from "@tanstack/react-router";
import { EmptyState } from "../kit/index.ts";
import { screens } from "../routes.tsx";
import { Shell } from "./shell.tsx";

/** Makes the paths from the list of screens. */
export function createConsoleRouter() {
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
  const ofScreens = screens.flatMap(({ path, component }) => [
    createRoute({ getParentRoute: () => root, path, component }),
    createRoute({ getParentRoute: () => root, path: `${path}/$id`, component }),
  ]);
  return createRouter({ routeTree: root.addChildren([home, signIn, ...ofScreens]), defaultPreload: "intent" });
}
