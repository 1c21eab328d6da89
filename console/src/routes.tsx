/**
 * The screens, in the order of the navigation. A new screen is one entry: its path, its label, its icon, and the
 * component, loaded when it is first opened. `PATH` and `PATH/$id` both open it (`useParams({ strict: false }).id`).
 */
import { lazyRouteComponent, type RouteComponent } from "@tanstack/react-router";
import type { IconName } from "./kit/index.ts";

export interface Screen {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly component: RouteComponent;
  /** Reached by a link and from the top bar: it is not in the navigation. */
  readonly isAside?: true;
}

export const screens: readonly Screen[] = [
  {
    path: "/approvals",
    label: "Approvals",
    icon: "inbox",
    component: lazyRouteComponent(() => import("./screens/approvals/approvals-screen.tsx"), "ApprovalsScreen"),
  },
  {
    path: "/overview",
    label: "Overview",
    icon: "overview",
    component: lazyRouteComponent(() => import("./screens/overview/overview-screen.tsx"), "OverviewScreen"),
  },
  {
    path: "/runs",
    label: "Runs",
    icon: "runs",
    component: lazyRouteComponent(() => import("./screens/runs/runs-screen.tsx"), "RunsScreen"),
  },
  {
    path: "/tools",
    label: "Tools",
    icon: "tools",
    component: lazyRouteComponent(() => import("./screens/tools/tools-screen.tsx"), "ToolsScreen"),
  },
  {
    path: "/policy",
    label: "Policy",
    icon: "policy",
    component: lazyRouteComponent(() => import("./screens/policy/policy-screen.tsx"), "PolicyScreen"),
  },
  {
    path: "/audit",
    label: "Audit",
    icon: "audit",
    component: lazyRouteComponent(() => import("./screens/audit/audit-screen.tsx"), "AuditScreen"),
  },
  {
    path: "/alarms",
    label: "Alarms",
    icon: "bell",
    component: lazyRouteComponent(() => import("./screens/alarms/alarms.tsx"), "AlarmsScreen"),
    isAside: true,
  },
];
