/** What a started Postern says of itself: store, policy, people, engines, channels, console, alarms, servers and tools. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ApprovalSettings } from "../approvals/approvals-config.ts";
import { type ApprovalRoute, isAmong, isOpen } from "../approvals/routes.ts";
import type { Settings } from "../config/settings.ts";
import { messageOf } from "../core/fault.ts";
import type { Addressees } from "../core/records.ts";
import { isSamePerson } from "../core/same-person.ts";
import { counted } from "../core/shown.ts";
import type { AccountAnswer } from "../server/contract/accounts.ts";
import type { CheckedView } from "../server/contract/audit.ts";
import type { ChainPage } from "../server/contract/chains.ts";
import type { PosternClient } from "../server/contract/client.ts";
import type { EffectivePolicyView, PolicyTest } from "../server/contract/policy.ts";
import type { HealthView } from "../server/contract/tools.ts";
import type { NamedText } from "../server/policy-reader.ts";
import { type DoctorFinding, fail, ok, warn } from "./findings.ts";
import { schemaFindings } from "./schema-checks.ts";
import { tablesFor } from "./settings-here.ts";

interface RunningCheckOptions {
  /** Reads the configuration's file. Undefined without one. */
  readonly read: (() => Promise<NamedText>) | undefined;
  /** Printed already, by the Postern that was started for the checks. */
  readonly problems: readonly string[];
}

export async function* runningChecks(
  operator: PosternClient,
  { servers, approvals }: Settings,
  { read, problems }: RunningCheckOptions,
): AsyncGenerator<DoctorFinding> {
  const health = await operator.health.show();
  yield health.status === "ok"
    ? ok("store", `opens; it offers ${counted(health.tools, "tool")}`)
    : fail("store", health.problem ?? "It is broken.", "Make room on the disk or repair it, then start again.");
  yield* policyFindings(await operator.policy.show());
  if (read !== undefined)
    try {
      const configuration = await read();
      yield* testFindings(await operator.policy.test({ configuration, tables: await tablesFor(configuration) }));
    } catch (error) {
      yield fail("policy tests", messageOf(error));
    }
  const people = (await operator.accounts.list()).accounts;
  yield* routeFindings(approvals, people);
  yield accountFinding(people);
  yield engineFinding((await operator.chains.list({ limit: 1 })).engines);
  yield* await channelFindings(operator);
  yield consolePage();
  yield auditFinding(await operator.audit.latest({ limit: 1 }).catch(messageOf));
  yield* await alarmFindings(operator);
  yield* serverFindings(health.servers, servers);
  yield* schemaFindings((await operator.tools.list()).tools);
  for (const { tool, why } of health.rejected)
    if (!problems.some((message) => message.endsWith(why)))
      yield warn("tools", `\`${tool}\` is not offered: ${why}`, "Correct it, then start again.");
}

function* policyFindings({ lines, warnings, policy_version: version }: EffectivePolicyView): Generator<DoctorFinding> {
  const actions = counted(lines?.length ?? 0, "action");
  if (warnings.length === 0)
    yield ok("policy", `${version}; ${actions}, \`postern policy show\` says what holds for each`);
  for (const { code, message, where } of warnings)
    yield warn(
      "policy",
      where === undefined ? message : `${where}: ${message}`,
      code === "matches_no_tool"
        ? "Correct the name, take it out, or write `optional: true` beside it; `postern policy warnings` checks again."
        : "Correct the rule, or take it out; `postern policy warnings` checks again.",
    );
}

/** A test of a tool that is not offered now is only a warning. */
function* testFindings({ results }: PolicyTest): Generator<DoctorFinding> {
  const check = "policy tests";
  const passed = results.filter((one) => one.passed).length;
  if (results.length === 0) yield ok(check, "none: `policy.tests` can say what the policy is to answer");
  else if (passed > 0) yield ok(check, `${passed} of ${counted(results.length, "expectation")} hold`);
  for (const { name, where, decision, problem = "" } of results.filter((one) => !one.passed))
    yield (decision === undefined ? warn : fail)(
      check,
      `${where === undefined ? "" : `${where}: `}\`${name}\` does not hold. ${problem}`.trimEnd(),
      "Correct the rule, or what is expected; `postern policy test` says which rules took part.",
    );
}

/** How long a request is open if no route says otherwise. */
const hourMs = 3_600_000;

/** Compares the routes of approvals with the accounts: a request that no person may decide is found before it is made. */
export function* routeFindings(
  { routes = [], ttlMs = hourMs }: Pick<ApprovalSettings, "routes" | "ttlMs">,
  people: readonly AccountAnswer[],
): Generator<DoctorFinding> {
  let isGood = true;
  for (const [i, route] of routes.entries())
    for (const message of routeProblems(route, people, ttlMs)) {
      isGood = false;
      const fix = "Correct `approvals.routes`, or `postern accounts roles|groups NAME …`.";
      yield warn("routes", `\`${route.name ?? `routes[${i}]`}\`: ${message}`, fix);
    }
  if (isGood && routes.length > 0)
    yield ok("routes", `${counted(routes.length, "route")}, each with people who may decide`);
}

function* routeProblems(route: ApprovalRoute, people: readonly AccountAnswer[], ttlMs: number): Generator<string> {
  const { to = {}, escalateTo, quorum = 1, escalateAfterMs = 0 } = route;
  if (route.ttlMs === undefined && escalateAfterMs >= ttlMs)
    yield "it is over before it is escalated, but for tools whose requests stay open longer";
  if (people.length === 0) return; // without accounts, the holder of the data folder decides as `operator`
  const asked = [to, ...(escalateTo === undefined ? [] : [escalateTo])];
  for (const addressees of asked) yield* unknownAddressees(addressees, people);
  const deciders = people.filter(mayDecide).filter((one) => asked.some((to) => isOpen(to) || isAsked(to, one)));
  if (deciders.length < quorum)
    yield `${quorum === 1 ? "an approval" : `${quorum} approvals`} cannot be given: ${counted(deciders.length, "person", "people")} it is sent to may decide`;
}

function mayDecide({ disabled, roles }: AccountAnswer): boolean {
  return !disabled && roles.includes("approver");
}

function isAsked(addressees: Addressees, { name, roles, groups }: AccountAnswer): boolean {
  return isAmong(addressees, { user: name, roles, groups });
}

/** Each name that stands for no person who decides. */
function* unknownAddressees(
  { users = [], groups = [], roles = [] }: Addressees,
  people: readonly AccountAnswer[],
): Generator<string> {
  const hasDecider = (to: Addressees): boolean => people.some((one) => mayDecide(one) && isAsked(to, one));
  for (const user of users)
    if (!people.some(({ name }) => isSamePerson(name, user))) yield `there is no account \`${user}\``;
    else if (!hasDecider({ users: [user] })) yield `\`${user}\` is disabled or has no role that decides`;
  for (const group of groups) if (!hasDecider({ groups: [group] })) yield `no approver is in the group \`${group}\``;
  for (const role of roles) if (!hasDecider({ roles: [role] })) yield `no approver has the role \`${role}\``;
}

function accountFinding(people: readonly AccountAnswer[]): DoctorFinding {
  const check = "accounts";
  const enabled = people.filter(({ disabled }) => !disabled);
  if (enabled.length === 0)
    return ok(check, "none: the holder of the data folder decides; `postern accounts add` adds one");
  if (enabled.some(mayDecide)) return ok(check, `${counted(enabled.length, "person")} may sign in`);
  return warn(
    check,
    "No account has the role `approver`, so no person can decide what is critical.",
    "`postern accounts roles NAME approver`, beside the roles it has.",
  );
}

/** An engine's package is optional: one that is missing is no problem while another runs. */
export function engineFinding(found: ChainPage["engines"]): DoctorFinding {
  const check = "engines";
  if (found.length === 0) return ok(check, "code mode is off");
  const ready = found.filter(({ problem }) => problem === undefined);
  const names = ready.map(({ name, language }) => (language === undefined ? name : `${name} (${language})`));
  const away = found.flatMap(({ name, problem }) => (problem === undefined ? [] : [`without ${name}: ${problem}`]));
  const message = [names.join(", "), ...away].filter((line) => line !== "").join("\n");
  const down = found.filter((engine) => engine.down === true).map(({ name }) => `\`${name}\``);
  if (ready.length === 0) return warn(check, message, "No script can run; install an engine, or see `chains.engines`.");
  if (down.length === 0) return lacksPython(found) ? warn(check, message, getPython) : ok(check, message);
  const them = down.length === 1 ? "it" : "them";
  return warn(
    check,
    message,
    `Repair ${down.join(", ")}, or leave ${them} out of \`chains.engines\`; until then scripts go to the others.`,
  );
}

/** Whether an engine for Python is configured and none can run. An engine that could not be loaded states no language. */
export function lacksPython(engines: ChainPage["engines"]): boolean {
  const python = engines.filter(
    ({ name, language }) => language === "python" || name === "cpython" || name === "pyodide",
  );
  return python.length > 0 && python.every(({ problem }) => problem !== undefined);
}

export const getPython =
  "Scripts in Python cannot run here. Get an engine: `apt install bubblewrap python3` on Linux, or `npm install pyodide deno`.";

async function channelFindings(operator: PosternClient): Promise<readonly DoctorFinding[]> {
  const { channels: found } = await operator.channels.list();
  if (found.length === 0) return [ok("channels", "none: people see requests in the console and at a terminal")];
  return found.map(({ name, target, delivered, dead, problem }) => {
    const check = `channel ${name}`;
    if (problem === undefined && dead.length === 0)
      return ok(check, `${target}, ${counted(delivered, "notice")} delivered`);
    const retry = dead.length === 0 ? "" : ` and \`postern channels retry ${name}\``;
    return warn(
      check,
      problem ?? `${counted(dead.length, "notice")} given up: ${dead.at(-1)?.problem ?? ""}`,
      `Repair it, then \`postern channels test ${name}\`${retry}.`,
    );
  });
}

function consolePage(): DoctorFinding {
  const isInPackage = (path: string): boolean => existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
  const check = "console";
  if (isInPackage("dist/console/index.html")) return ok(check, "built; `postern start` serves it");
  if (isInPackage("console/vite.config.ts"))
    return ok(check, "is built when a browser first asks for it (`npm run build:console`)");
  const message = "The package has no console; approvals are decided at a terminal or over HTTP.";
  return warn(check, message, "Install the package again.");
}

/** @param found the end of the log and its last verification; or why the log cannot be read */
export function auditFinding(found: { readonly size: number; readonly checked?: CheckedView } | string): DoctorFinding {
  const check = "audit log";
  const fix = "`postern audit verify` reads it again; if the disk fails, save the folder first.";
  if (typeof found === "string") return fail(check, `It cannot be read: ${found}`, fix);
  const { size, checked } = found;
  if (checked === undefined) return ok(check, `${counted(size, "event")}, not read again since the start`);
  if (checked.intact) return ok(check, `${counted(checked.events, "event")}, intact at ${checked.at}`);
  const { unreadable, first_broken: first, why, at } = checked;
  const what = unreadable === undefined ? "It is not intact" : "It cannot be read";
  return (unreadable === "failing" ? warn : fail)(check, `${what} from event ${first} on (${at}): ${why}`, fix);
}

/** Only a broken audit log is a failure: the other alarms are about what Postern works with. */
async function alarmFindings(operator: PosternClient): Promise<readonly DoctorFinding[]> {
  const { alarms } = await operator.alarms.list({ state: "open" });
  return alarms.map(({ alarm_id, kind, summary }) =>
    (kind === "audit_not_intact" ? fail : warn)(
      `alarm ${kind}`,
      summary,
      `\`postern alarms\` says more; \`postern alarms ack ${alarm_id}\` when you know.`,
    ),
  );
}

function* serverFindings(found: HealthView["servers"], configured: Settings["servers"]): Generator<DoctorFinding> {
  for (const { name, status, problem = status, refused } of found) {
    const check = `server ${name}`;
    yield status === "connected"
      ? ok(check, "connected")
      : warn(check, problem, connectionFix(name, problem, configured[name])); // its tools are away; everything else works
    for (const { tool, why } of refused)
      yield warn(
        check,
        `\`${tool}\` is not offered. ${why}`,
        "Correct its definition in the server, or ask its maker.",
      );
  }
}

function connectionFix(name: string, problem: string, { command }: Settings["servers"][string] = {}): string {
  if (problem.startsWith("There is no secret ")) return "Set it; the server is then connected within half a minute.";
  if (command === undefined)
    return `See that it runs and answers at \`servers.${name}.url\`, and that \`headers\` let Postern in.`;
  return `Run its command by hand; see \`servers.${name}\` in the configuration.`;
}
