/** The screens, in the order of the navigation. A new screen is one line here. */
import { lazyRouteComponent, type RouteComponent } from "@tanstack/react-router";
import type { IconName } from "./kit/index.ts";

interface Screen {
  readonly label: string;
  /** It and `PATH/$id` open the screen (`useParams({ strict: false }).id`). */
  readonly path: string;
  readonly icon: IconName;
  /** Loaded when it is first opened. */
  readonly component: RouteComponent;
}

/** The path and the icon are named as the label. */
function screen(label: Capitalize<IconName>, component: RouteComponent): Screen {
  const name = label.toLowerCase() as IconName; // the type of the label holds only such
  return { label, path: `/${name}`, icon: name, component };
}

export const screens: readonly Screen[] = [
  screen(
    "Approvals",
    lazyRouteComponent(() => import("./screens/approvals/approvals-screen.tsx"), "ApprovalsScreen"),
  ),
  screen(
    "Overview",
    lazyRouteComponent(() => import("./screens/overview/overview-screen.tsx"), "OverviewScreen"),
  ),
  screen(
    "Runs",
    lazyRouteComponent(() => import("./screens/runs/runs-screen.tsx"), "RunsScreen"),
  ),
  screen(
    "Tools",
    lazyRouteComponent(() => import("./screens/tools/tools-screen.tsx"), "ToolsScreen"),
  ),
  screen(
    "Policy",
    lazyRouteComponent(() => import("./screens/policy/policy-screen.tsx"), "PolicyScreen"),
  ),
  screen(
    "Audit",
    lazyRouteComponent(() => import("./screens/audit/audit-screen.tsx"), "AuditScreen"),
  ),
];

/** Opened by links and from the top bar: they are not in the navigation. */
export const unlisted: readonly Screen[] = [
  screen(
    "Alarms",
    lazyRouteComponent(() => import("./screens/alarms/alarms.tsx"), "AlarmsScreen"),
  ),
  screen(
    "Connections",
    lazyRouteComponent(() => import("./screens/connections/connections-screen.tsx"), "ConnectionsScreen"),
  ),
];
