/** The `approvals` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */

import { type CamelCased, isRole, RuntimeFault, risks, roles } from "@postern/core";
import { z } from "zod";
import type { Patience } from "../call/session.ts";
import { type ApprovalRoute, Routing } from "./routes.ts";

export interface ApprovalSettings {
  readonly patience: Patience;
  readonly ttlMs?: number;
  readonly maxOpenPerAgent?: number;
  readonly separateUser?: boolean;
  readonly routes?: readonly ApprovalRoute[];
}

const monthSeconds = 30 * 86_400;
const name = z.string().min(1).max(256);
const names = z.array(name).min(1);
const seconds = z.int().min(1).max(monthSeconds).exactOptional();
const addressees = z.strictObject({
  roles: names.exactOptional(),
  groups: names.exactOptional(),
  users: names.exactOptional(),
});
const level = z.enum(risks);

const route = z.strictObject({
  name: name.exactOptional().describe("shown wherever the route applied"),
  match: z
    .strictObject({
      tools: names.exactOptional().describe("* stands for anything"),
      servers: names.exactOptional().describe("the upstream servers the tools come from"),
      risk: z.union([level, z.array(level).min(1)]).exactOptional(),
      tenants: names.exactOptional(),
      principals: z
        .array(z.string().regex(/^(?:agent|user):./, "Write `agent:NAME` or `user:NAME`."))
        .min(1)
        .exactOptional(),
    })
    .exactOptional()
    .describe("all that is given must fit; the first route that matches applies"),
  to: addressees.exactOptional().describe("any of them may decide; if no one is named, all who may decide"),
  quorum: z.int().min(1).max(100).exactOptional().describe("so many different persons must say yes"),
  typed_confirmation: z
    .boolean()
    .exactOptional()
    .describe("the decider types the tool's name; default: only for critical risk"),
  separate_user: z.boolean().exactOptional().describe("the asking user decides nothing, whatever the credential"),
  signed_in: z
    .boolean()
    .exactOptional()
    .describe("a person signed in decides, not a token; default: only for critical risk"),
  remember: z
    .boolean()
    .exactOptional()
    .describe("whether an approval may be remembered; default: except for critical risk"),
  ttl_seconds: seconds.describe("how long such a request stays open"),
  remind_before_seconds: seconds.describe("a reminder, so long before it expires"),
  escalate_after_seconds: seconds.describe("then `escalate_to` may decide as well"),
  escalate_to: addressees.exactOptional(),
  optional: z.boolean().exactOptional().describe("true: no warning if its tools and servers match nothing"),
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
    .enum(["deny", "wait", "suspend"])
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
