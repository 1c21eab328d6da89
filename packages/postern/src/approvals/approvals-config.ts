/** The `approvals` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */

import { type CamelCased, isRole, RuntimeFault, roles } from "@postern/core";
import { z } from "zod";
import { type Patience, patiences } from "../call/session.ts";
import { fileShape } from "../checks/zod.ts";
import { type ApprovalRoute, Routing, routeMembers } from "./routes.ts";

export interface ApprovalSettings {
  readonly patience: Patience;
  readonly ttlMs?: number;
  readonly maxOpenPerAgent?: number;
  readonly separateUser?: boolean;
  readonly routes?: readonly ApprovalRoute[];
}

const monthSeconds = 30 * 86_400;
const seconds = z.int().min(1).max(monthSeconds).optional();

const route = z.strictObject({
  ...fileShape(routeMembers()),
  ttl_seconds: seconds.describe("how long such a request stays open"),
  remind_before_seconds: seconds.describe("a reminder, so long before it expires"),
  escalate_after_seconds: seconds.describe("then `escalate_to` may decide as well"),
});

export const approvalsSchema = z.strictObject({
  ttl_seconds: z
    .int()
    .min(1)
    .max(monthSeconds)
    .exactOptional()
    .describe("How long a request stays open. Default: 3600."),
  max_open_per_agent: z
    .int()
    .min(1)
    .exactOptional()
    .describe("So many requests of one agent may be open at once; one more is refused. Default: 2000."),
  separate_user: z.boolean().exactOptional().describe("The deciding user must not be the asking one."),
  patience: z
    .enum(patiences)
    .exactOptional()
    .describe(
      "What happens to a call that needs a person: refused, held on the line, or left pending until it is sent again (default).",
    ),
  routes: z
    .array(route)
    .exactOptional()
    .describe("Who is asked, and what a yes must bring: docs/reference/approvals.md."),
});

export type ApprovalsSection = CamelCased<z.output<typeof approvalsSchema>>;
type RouteSection = NonNullable<ApprovalsSection["routes"]>[number];

/**
 * Problems that only the compiled routes can find, for example a quorum that cannot be reached. Returns a sentence, or
 * undefined. In a configuration file people have only the roles of its table; in code a decider brings its own.
 */
export function routesProblem(approvals: ApprovalsSection): string | undefined {
  try {
    new Routing(approvalSettingsFrom(approvals).routes);
    return (approvals.routes ?? []).flatMap(({ to, escalateTo }, i) => [
      ...unknownRoles(to, `approvals.routes[${i}].to`),
      ...unknownRoles(escalateTo, `approvals.routes[${i}].escalate_to`),
    ])[0];
  } catch (error) {
    if (error instanceof RuntimeFault) return error.message;
    throw error;
  }
}

function unknownRoles({ roles: named = [] }: NonNullable<RouteSection["to"]> = {}, at: string): readonly string[] {
  return named
    .filter((one) => !isRole(one))
    .map((one) => `\`${at}.roles\` names \`${one}\`, which does not exist; there are ${roles.join(", ")}.`);
}

/** @param whereOf the place of a route in its file */
export function approvalSettingsFrom(
  { ttlSeconds, routes, patience = "suspend", ...rest }: ApprovalsSection,
  whereOf: (route: number) => string | undefined = () => undefined,
): ApprovalSettings {
  return {
    patience,
    ...rest,
    ...(ttlSeconds !== undefined && { ttlMs: ttlSeconds * 1000 }),
    ...(routes !== undefined && { routes: routes.map((route, i) => routeFrom(route, whereOf(i))) }),
  };
}

function routeFrom(
  { ttlSeconds, remindBeforeSeconds, escalateAfterSeconds, ...rest }: RouteSection,
  where: string | undefined,
): ApprovalRoute {
  return {
    ...rest,
    ...(ttlSeconds !== undefined && { ttlMs: ttlSeconds * 1000 }),
    ...(remindBeforeSeconds !== undefined && { remindBeforeMs: remindBeforeSeconds * 1000 }),
    ...(escalateAfterSeconds !== undefined && { escalateAfterMs: escalateAfterSeconds * 1000 }),
    ...(where !== undefined && { where }),
  };
}
