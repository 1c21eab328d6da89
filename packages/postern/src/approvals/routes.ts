import {
  type Addressees,
  isSamePerson,
  normalizedName,
  type Principal,
  type Risk,
  type Routed,
  RuntimeFault,
  risks,
} from "@postern/core";
import { checkOptionsBy } from "../checks/schema-problems.ts";
import { lazySchema, optionsIn } from "../checks/zod.ts";
import { globMatcher } from "../policy/rules/glob.ts";

/**
 * To whom a request is sent, and what an approval must bring. The first route that matches applies. What it leaves out
 * is the default for the call's risk.
 *
 * @public
 */
export interface ApprovalRoute {
  /** Shown with each request. Without a name, its place in the list is shown. */
  readonly name?: string;
  /** All given fields must match; `*` stands for any characters. Without fields, every call matches. */
  readonly match?: {
    readonly tools?: readonly string[];
    readonly servers?: readonly string[];
    readonly risk?: Risk | readonly Risk[];
    readonly tenants?: readonly string[];
    /** `agent:NAME` or `user:NAME`. */
    readonly principals?: readonly string[];
  };
  /** Any of them may decide. Empty: every person who may decide. */
  readonly to?: Addressees;
  /** How many different persons must approve. Default 1. */
  readonly quorum?: number;
  /** The decider types the tool's name. Default: for `critical`. */
  readonly typedConfirmation?: boolean;
  /** The asking user decides nothing, whatever the credential. */
  readonly separateUser?: boolean;
  /** A person signed in must decide, not a token. Default: for `critical`. */
  readonly signedIn?: boolean;
  /** Whether an approval may be remembered. Default: unless it is `critical`; never under a quorum. */
  readonly remember?: boolean;
  readonly ttlMs?: number;
  readonly remindBeforeMs?: number;
  readonly escalateAfterMs?: number;
  readonly escalateTo?: Addressees;
  /** The route's place in a file. */
  readonly where?: string;
  /** If its tools and servers match nothing, there is no warning. */
  readonly optional?: boolean;
}

/** The members of a call, or of its record, that routes match. */
export interface Routable {
  readonly tool: string;
  readonly server?: string | undefined;
  readonly risk: Risk;
  readonly principal: Principal;
}

/** What a decision on such a call must bring now. */
export interface Requirement extends Omit<Routed, "remindAt" | "escalateAt"> {
  readonly ttlMs?: number;
  readonly remindBeforeMs?: number;
  readonly escalateAfterMs?: number;
}

interface CompiledRoute {
  readonly route: ApprovalRoute;
  readonly rule: string;
  readonly fits: (call: Routable) => boolean;
}

/** The members that a route in code and one in a file share. Times are milliseconds in code and seconds in a file. */
export const routeMembers = lazySchema((zod) => {
  const name = zod.string().min(1).max(256);
  const names = zod.array(name).min(1);
  const principal = zod.string().regex(/^(?:agent|user):./, "Write `agent:NAME` or `user:NAME`.");
  const level = zod.enum(risks);
  const addressees = optionsIn<Addressees>(zod, {
    roles: names.optional(),
    groups: names.optional(),
    users: names.optional(),
  }).optional();
  const flag = zod.boolean().optional();
  return {
    name: name
      .refine((text) => text !== "default", {
        error: "calls without a route have this name.",
        params: { fix: "Write another name, not `default`." },
      })
      .optional()
      .describe("shown wherever the route applied"),
    match: optionsIn<NonNullable<ApprovalRoute["match"]>>(zod, {
      tools: names.optional().describe("* stands for anything"),
      servers: names.optional().describe("the upstream servers the tools come from"),
      risk: zod.union([level, zod.array(level).min(1)]).optional(),
      tenants: names.optional(),
      principals: zod.array(principal).min(1).optional(),
    })
      .optional()
      .describe("all that is given must fit; the first route that matches applies"),
    to: addressees.describe("any of them may decide; if no one is named, all who may decide"),
    quorum: zod.int().min(1).max(100).optional().describe("so many different persons must say yes"),
    typedConfirmation: flag.describe("the decider types the tool's name; default: only for critical risk"),
    separateUser: flag.describe("the asking user decides nothing, whatever the credential"),
    signedIn: flag.describe("a person signed in decides, not a token; default: only for critical risk"),
    remember: flag.describe("whether an approval may be remembered; default: except for critical risk"),
    escalateTo: addressees,
    optional: flag.describe("true: no warning if its tools and servers match nothing"),
  };
});

const routesSchema = lazySchema((zod) => {
  const time = zod.int().min(1).max(maxMs).optional();
  const route = optionsIn<ApprovalRoute>(zod, {
    ...routeMembers(),
    ...{ ttlMs: time, remindBeforeMs: time, escalateAfterMs: time, where: zod.string().optional() },
  });
  return zod.object({ approvals: zod.object({ routes: zod.array(route) }) });
});
const maxMs = 30 * 86_400_000;

export class Routing {
  readonly #routes: readonly CompiledRoute[];
  readonly #separateUser: boolean;

  /** @throws RuntimeFault `options_invalid` that names the route, the field and the value */
  constructor(routes: readonly ApprovalRoute[] = [], separateUser = false) {
    checkOptionsBy(routesSchema(), { approvals: { routes } });
    this.#routes = routes.map(compiled);
    this.#separateUser = separateUser;
  }

  requirement(call: Routable): Requirement {
    const found = this.#routes.find(({ fits }) => fits(call));
    const route = found?.route ?? {};
    const isCritical = call.risk === "critical";
    const { to = {}, quorum = 1, typedConfirmation = isCritical, signedIn = isCritical } = route;
    const { ttlMs, remindBeforeMs, escalateAfterMs, escalateTo } = route;
    return {
      rule: found?.rule ?? "default",
      to,
      quorum,
      typedConfirmation,
      signedIn,
      separateUser: this.#separateUser || route.separateUser === true,
      remembers: quorum === 1 && (route.remember ?? !isCritical),
      ...(ttlMs !== undefined && { ttlMs }),
      ...(remindBeforeMs !== undefined && { remindBeforeMs }),
      ...(escalateAfterMs !== undefined && { escalateAfterMs }),
      ...(escalateTo !== undefined && { escalateTo }),
    };
  }
}

/** The requirement as it is recorded. A later configuration does not loosen it. */
export function routedBy(requirement: Requirement, requestedAt: number, expiresAt: number): Routed {
  const { ttlMs: _, remindBeforeMs, escalateAfterMs, ...kept } = requirement;
  const remindAt = remindBeforeMs === undefined ? undefined : Math.max(requestedAt, expiresAt - remindBeforeMs);
  const escalateAt = escalateAfterMs === undefined ? undefined : requestedAt + escalateAfterMs;
  return {
    ...kept,
    ...(remindAt !== undefined && { remindAt }),
    ...(escalateAt !== undefined && escalateAt < expiresAt && { escalateAt }),
  };
}

/** The requirement without a route. */
export const unrouted: Routed = Object.freeze({
  rule: "default",
  to: {},
  quorum: 1,
  typedConfirmation: false,
  separateUser: false,
  signedIn: false,
  remembers: false,
});

/** The stricter of the two requirements, with the route that adds to it. Addressees are checked against both. */
export function stricter(recorded: Routed, present: Routed): Routed {
  const requirement = {
    ...recorded,
    to: isOpen(recorded.to) && !isOpen(present.to) ? present.to : recorded.to,
    quorum: Math.max(recorded.quorum, present.quorum),
    typedConfirmation: recorded.typedConfirmation || present.typedConfirmation,
    separateUser: recorded.separateUser || present.separateUser,
    signedIn: recorded.signedIn || present.signedIn,
    remembers: recorded.remembers && present.remembers,
  };
  const isMore = requiredMembers.some((what) => requirement[what] !== recorded[what]);
  return isMore ? { ...requirement, rule: present.rule } : requirement;
}

const requiredMembers = ["to", "quorum", "typedConfirmation", "separateUser", "signedIn", "remembers"] as const;

/** Whether no person, role or group is named. */
export function isOpen({ roles = [], groups = [], users = [] }: Addressees): boolean {
  return roles.length + groups.length + users.length === 0;
}

export function isAmong(
  { roles = [], groups = [], users = [] }: Addressees,
  person: { readonly user: string; readonly roles?: readonly string[]; readonly groups?: readonly string[] },
): boolean {
  return (
    users.some((user) => isSamePerson(user, person.user)) ||
    roles.some((role) => person.roles?.includes(role) === true) ||
    groups.some((group) => person.groups?.includes(group) === true)
  );
}

function compiled(route: ApprovalRoute, i: number): CompiledRoute {
  const at = `approvals.routes[${i}]`;
  checkTogether(route, at);
  const { tools, servers, risk, tenants, principals } = route.match ?? {};
  const levels = risk === undefined ? undefined : typeof risk === "string" ? [risk] : risk;
  const fitsTool = oneOf(tools);
  const fitsServer = oneOf(servers);
  const fitsTenant = oneOf(tenants);
  const fitsPrincipal = oneOf(principals);
  return {
    route,
    rule: route.name ?? `routes[${i}]`,
    fits: ({ tool, server, risk: level, principal }) =>
      fitsTool(tool) &&
      (servers === undefined || (server !== undefined && fitsServer(server))) &&
      (levels === undefined || levels.includes(level)) &&
      fitsTenant(principal.tenant) &&
      (fitsPrincipal(`agent:${principal.agent}`) ||
        (principal.user !== undefined && fitsPrincipal(`user:${principal.user}`))),
  };
}

function oneOf(patterns: readonly string[] | undefined): (name: string) => boolean {
  if (patterns === undefined) return () => true;
  const matchers = patterns.map(globMatcher);
  return (name) => matchers.some((fits) => fits(name));
}

/** What one member alone cannot say. */
function checkTogether(route: ApprovalRoute, at: string): void {
  const { to, quorum = 1, escalateTo, escalateAfterMs } = route;
  const { roles = [], groups = [], users = [] } = to ?? {};
  const persons = new Set(users.map(normalizedName)).size;
  if (roles.length + groups.length === 0 && persons > 0 && persons < quorum && escalateTo === undefined)
    throw invalid(`${at}.quorum`, quorum, `at most the ${persons} users of \`to\`: else nothing is ever approved`);
  if (escalateAfterMs !== undefined && route.ttlMs !== undefined && escalateAfterMs >= route.ttlMs)
    throw invalid(
      `${at}.escalateAfterMs`,
      escalateAfterMs,
      `less than the \`ttlMs\` of ${route.ttlMs}: else no other person is ever asked`,
    );
  if ((escalateTo === undefined) !== (escalateAfterMs === undefined))
    throw invalid(`${at}.escalateTo`, escalateTo, "given together with `escalateAfterMs`");
  if (route.remember === true && quorum > 1)
    throw invalid(
      `${at}.remember`,
      true,
      "left out under a quorum: one person's approval must not replace the others'",
    );
}

function invalid(at: string, value: unknown, wanted: string): RuntimeFault {
  const shown = JSON.stringify(value) ?? String(value);
  return new RuntimeFault("options_invalid", `\`${at}\` is ${shown}; it must be ${wanted}.`);
}
