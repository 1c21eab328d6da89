/** The paths of the screens. `$…` names the entry that is open. */
import { createRootRoute, createRoute, createRouter, Navigate, redirect } from "@tanstack/react-router";
import {
  approvalsAddress,
  auditAddress,
  callsAddress,
  connectionsAddress,
  overviewAddress,
  peopleAddress,
  policyAddress,
  runsAddress,
  signInAddress,
  toolsAddress,
} from "./address.ts";
import { EmptyState, type LazyScreen, lazyScreen, preloadLate } from "./kit/index.ts";
import { ScreenError } from "./shell/screen-error.tsx";
import { Shell } from "./shell/shell.tsx";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <EmptyState icon="search" title="There is no such page here" />,
});
const getParentRoute = (): typeof root => root;

// Each is a constant of its own: within a list their types are lost.
const home = createRoute({
  getParentRoute,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/approvals/{-$request}" });
  },
});
// The address holds a link's word until the sign-in has read it.
const signIn = createRoute({
  getParentRoute,
  path: "/sign-in",
  validateSearch: signInAddress,
  component: () => <Navigate to="/approvals/{-$request}" />,
});
const approvals = createRoute({
  getParentRoute,
  path: "/approvals/{-$request}",
  validateSearch: approvalsAddress,
  component: lazyScreen(async () => (await import("./screens/approvals/approvals-screen.tsx")).ApprovalsScreen),
});
const overview = createRoute({
  getParentRoute,
  path: "/overview",
  validateSearch: overviewAddress,
  component: lazyScreen(async () => (await import("./screens/overview/overview-screen.tsx")).OverviewScreen),
});
const runs = createRoute({
  getParentRoute,
  path: "/runs/{-$run}",
  validateSearch: runsAddress,
  component: lazyScreen(async () => (await import("./screens/runs/runs-screen.tsx")).RunsScreen),
});
const calls = createRoute({
  getParentRoute,
  path: "/calls/{-$call}",
  validateSearch: callsAddress,
  component: lazyScreen(async () => (await import("./screens/calls/calls-screen.tsx")).CallsScreen),
});
const tools = createRoute({
  getParentRoute,
  path: "/tools/{-$tool}",
  validateSearch: toolsAddress,
  component: lazyScreen(async () => (await import("./screens/tools/tools-screen.tsx")).ToolsScreen),
});
const policy = createRoute({
  getParentRoute,
  path: "/policy/{-$tab}",
  validateSearch: policyAddress,
  component: lazyScreen(async () => (await import("./screens/policy/policy-screen.tsx")).PolicyScreen),
});
const audit = createRoute({
  getParentRoute,
  path: "/audit/{-$event}",
  validateSearch: auditAddress,
  component: lazyScreen(async () => (await import("./screens/audit/audit-screen.tsx")).AuditScreen),
});
const needs = createRoute({
  getParentRoute,
  path: "/needs",
  component: lazyScreen(async () => (await import("./screens/needs/needs-screen.tsx")).NeedsScreen),
});
const servers = createRoute({
  getParentRoute,
  path: "/servers/{-$server}",
  component: lazyScreen(async () => (await import("./screens/servers/servers-screen.tsx")).ServersScreen),
});
const alarms = createRoute({
  getParentRoute,
  path: "/alarms",
  component: lazyScreen(async () => (await import("./screens/alarms/alarms.tsx")).AlarmsScreen),
});
const connections = createRoute({
  getParentRoute,
  path: "/connections/{-$server}",
  validateSearch: connectionsAddress,
  component: lazyScreen(async () => (await import("./screens/connections/connections-screen.tsx")).ConnectionsScreen),
});
const people = createRoute({
  getParentRoute,
  path: "/people/{-$tab}",
  validateSearch: peopleAddress,
  component: lazyScreen(async () => (await import("./screens/people/people-screen.tsx")).PeopleScreen),
});

const routeTree = root.addChildren([
  home,
  signIn,
  approvals,
  overview,
  runs,
  calls,
  tools,
  policy,
  audit,
  alarms,
  connections,
  people,
  needs,
  servers,
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultErrorComponent: ScreenError,
  search: { strict: true }, // what a screen does not know is not passed on to it
});

/** So that every screen opens while Postern does not answer. */
export async function preloadScreens(): Promise<void> {
  for (const { options } of Object.values(router.routesById))
    await (options.component as Partial<LazyScreen>)?.preload?.();
  await preloadLate();
}

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
