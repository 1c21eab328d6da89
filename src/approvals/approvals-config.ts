/** The `approvals` section of a configuration file (snake_case) and what it becomes. Only src/config imports this. */
import { z } from "zod";
import { isRole, roles } from "../accounts/roles.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { risks } from "../calls/risk.ts";
import type { Patience } from "../calls/session.ts";
import { type ApprovalRoute, Routing } from "./routes.ts";

type Level = "safe" | "low" | "medium" | "high" | "critical";

interface AddresseesFile {
  readonly roles?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
}

export interface RouteFile {
  readonly name?: string | undefined;
  readonly match?:
    | {
        readonly tools?: readonly string[] | undefined;
        readonly servers?: readonly string[] | undefined;
        readonly risk?: Level | readonly Level[] | undefined;
        readonly tenants?: readonly string[] | undefined;
        readonly principals?: readonly string[] | undefined;
      }
    | undefined;
  readonly to?: AddresseesFile | undefined;
  readonly quorum?: number | undefined;
  readonly typed_confirmation?: boolean | undefined;
  readonly separate_user?: boolean | undefined;
  readonly signed_in?: boolean | undefined;
  readonly remember?: boolean | undefined;
  readonly ttl_seconds?: number | undefined;
  readonly remind_before_seconds?: number | undefined;
  readonly escalate_after_seconds?: number | undefined;
  readonly escalate_to?: AddresseesFile | undefined;
  readonly optional?: boolean | undefined;
}

export interface ApprovalsFile {
  readonly ttl_seconds?: number | undefined;
  readonly separate_user?: boolean | undefined;
  readonly patience?: Patience | undefined;
  readonly routes?: readonly RouteFile[] | undefined;
}

export interface ApprovalSettings {
  readonly patience: Patience;
  readonly ttlMs?: number;
  readonly separateUser?: boolean;
  readonly routes?: readonly ApprovalRoute[];
}

const monthSeconds = 30 * 86_400;
const name = z.string().min(1).max(256);
const names = z.array(name).min(1);
const seconds = z.int().min(1).max(monthSeconds).optional();
const addressees = z.strictObject({
  roles: names.optional(),
  groups: names.optional(),
  users: names.optional(),
});
const level = z.enum(["low", ...risks]);

const route = z.strictObject({
  name: name.optional().describe("shown wherever the route applied"),
  match: z
    .strictObject({
      tools: names.optional().describe("* stands for anything"),
      servers: names.optional().describe("the upstream servers the tools come from"),
      risk: z.union([level, z.array(level).min(1)]).optional(),
      tenants: names.optional(),
      principals: z
        .array(z.string().regex(/^(?:agent|user):./, "Write `agent:NAME` or `user:NAME`."))
        .min(1)
        .optional(),
    })
    .optional()
    .describe("all that is given must fit; the first route that matches applies"),
  to: addressees.optional().describe("any of them may decide; if no one is named, all who may decide"),
  quorum: z.int().min(1).max(100).optional().describe("so many different persons must say yes"),
  typed_confirmation: z
    .boolean()
    .optional()
    .describe("the decider types the tool's name; for critical when nothing is said"),
  separate_user: z.boolean().optional().describe("the asking user decides nothing, whatever the credential"),
  signed_in: z
    .boolean()
    .optional()
    .describe("a person signed in decides, not a token; for critical when nothing is said"),
  remember: z.boolean().optional().describe("whether a yes may be remembered; not for critical when nothing is said"),
  ttl_seconds: seconds.describe("how long such a request stays open"),
  remind_before_seconds: seconds.describe("a reminder, so long before it expires"),
  escalate_after_seconds: seconds.describe("then `escalate_to` may decide as well"),
  escalate_to: addressees.optional(),
  optional: z.boolean().optional().describe("true: no warning if its tools and servers match nothing"),
});

export const approvalsSchema: z.ZodType<ApprovalsFile> = z.strictObject({
  ttl_seconds: z
    .int()
    .min(1)
    .max(monthSeconds)
    .optional()
    .describe("How long a request stays open; 3600 when nothing is said."),
  separate_user: z.boolean().optional().describe("The deciding user must not be the asking one."),
  patience: z
    .enum(["deny", "wait", "suspend"])
    .optional()
    .describe(
      "What happens to a call that needs a person: refused, held on the line, or left pending until it is sent again (default).",
    ),
  routes: z.array(route).optional().describe("Who is asked, and what a yes must bring: docs/reference/approvals.md."),
});

/**
 * What only the routes themselves can judge, a quorum that cannot be reached for example; a sentence, or undefined. People of a
 * file's Postern have roles of its table alone; in a program a decider brings its own.
 */
export function routesProblem(file: ApprovalsFile): string | undefined {
  try {
    new Routing(approvalSettingsFrom(file).routes);
    return (file.routes ?? []).flatMap(({ to, escalate_to }, i) => [
      ...strangeRoles(to, `approvals.routes[${i}].to`),
      ...strangeRoles(escalate_to, `approvals.routes[${i}].escalate_to`),
    ])[0];
  } catch (error) {
    if (error instanceof RuntimeFault) return error.message;
    throw error;
  }
}

function strangeRoles({ roles: named = [] }: AddresseesFile = {}, at: string): readonly string[] {
  return named
    .filter((one) => !isRole(one))
    .map((one) => `\`${at}.roles\` names \`${one}\`, which does not exist; there are ${roles.join(", ")}.`);
}

/** @param whereOf the place of a route in its file */
export function approvalSettingsFrom(
  file: ApprovalsFile,
  whereOf: (route: number) => string | undefined = () => undefined,
): ApprovalSettings {
  const { ttl_seconds, separate_user, patience = "suspend", routes } = file;
  return {
    patience,
    ...(ttl_seconds !== undefined && { ttlMs: ttl_seconds * 1000 }),
    ...(separate_user !== undefined && { separateUser: separate_user }),
    ...(routes !== undefined && { routes: routes.map((route, i) => placed(routeFrom(route), whereOf(i))) }),
  };
}

const spellings: ReadonlyMap<string, keyof ApprovalRoute> = new Map([
  ["typed_confirmation", "typedConfirmation"],
  ["separate_user", "separateUser"],
  ["signed_in", "signedIn"],
  ["escalate_to", "escalateTo"],
  ["ttl_seconds", "ttlMs"],
  ["remind_before_seconds", "remindBeforeMs"],
  ["escalate_after_seconds", "escalateAfterMs"],
]);

function placed(route: ApprovalRoute, where: string | undefined): ApprovalRoute {
  return where === undefined ? route : { ...route, where };
}

function routeFrom(file: RouteFile): ApprovalRoute {
  const fields = Object.entries(file).flatMap(([key, value]) => {
    if (value === undefined) return [];
    return [[spellings.get(key) ?? key, key.endsWith("_seconds") ? Number(value) * 1000 : value] as const];
  });
  return Object.fromEntries(fields) as ApprovalRoute; // the file form of that type, key by key
}
