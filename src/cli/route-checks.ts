import type { ApprovalSettings } from "../approvals/approvals-config.ts";
import { type ApprovalRoute, isAmong, isOpen } from "../approvals/routes.ts";
import type { Addressees } from "../core/records.ts";
import { isSamePerson } from "../core/same-person.ts";
import { counted } from "../core/shown.ts";
import type { AccountAnswer } from "../server/contract/accounts.ts";
import type { DoctorFinding } from "./checks.ts";

const check = "routes";
/** Of requests for which nothing else is said. */
const hourMs = 3_600_000;

/** Routes of approvals, held against the people there are: a request that nobody may answer is found before it is asked. */
export function* routeFindings(
  { routes = [], ttlMs = hourMs }: Pick<ApprovalSettings, "routes" | "ttlMs">,
  people: readonly AccountAnswer[],
): Generator<DoctorFinding> {
  const deciders = people.filter(({ disabled, roles }) => !disabled && roles.includes("approver"));
  let isGood = true;
  for (const [i, route] of routes.entries())
    for (const message of troubles(route, { deciders, people, ttlMs })) {
      isGood = false;
      yield { level: "warn", check, message: `\`${route.name ?? `routes[${i}]`}\`: ${message}`, fix };
    }
  if (isGood && routes.length > 0)
    yield { level: "ok", check, message: `${counted(routes.length, "route")}, each with people who may decide` };
}

const fix = "Correct `approvals.routes`, or `postern accounts roles|groups NAME …`.";

interface Known {
  /** Who may sign in and decide. */
  readonly deciders: readonly AccountAnswer[];
  readonly people: readonly AccountAnswer[];
  readonly ttlMs: number;
}

function* troubles(route: ApprovalRoute, { deciders, people, ttlMs }: Known): Generator<string> {
  const { to = {}, escalateTo, quorum = 1, escalateAfterMs = 0 } = route;
  if (route.ttlMs === undefined && escalateAfterMs >= ttlMs)
    yield "it is over before it is escalated, but for tools whose requests stay open longer";
  if (people.length === 0) return; // whoever holds the data folder decides, under the name `operator`
  for (const addressees of [to, escalateTo ?? {}]) yield* unmet(addressees, { deciders, people });
  const asked = [to, ...(escalateTo === undefined ? [] : [escalateTo])];
  const may = deciders.filter((one) => asked.some((them) => isOpen(them) || isAmong(them, personOf(one))));
  if (may.length < quorum)
    yield `${quorum === 1 ? "a yes" : `${quorum} yeses`} cannot be had: ${counted(may.length, "person", "people")} it is sent to may decide`;
}

/** Each name in it that stands for nobody who decides. */
function* unmet(
  { users = [], groups = [], roles = [] }: Addressees,
  { deciders, people }: Omit<Known, "ttlMs">,
): Generator<string> {
  const meets = (them: Addressees): boolean => deciders.some((one) => isAmong(them, personOf(one)));
  for (const user of users)
    if (!people.some(({ name }) => isSamePerson(name, user))) yield `there is no account \`${user}\``;
    else if (!meets({ users: [user] })) yield `\`${user}\` is disabled or has no role that decides`;
  for (const group of groups)
    if (!meets({ groups: [group] })) yield `nobody who may decide is in the group \`${group}\``;
  for (const role of roles) if (!meets({ roles: [role] })) yield `nobody who may decide has the role \`${role}\``;
}

function personOf({ name, roles, groups }: AccountAnswer) {
  return { user: name, roles, groups };
}
