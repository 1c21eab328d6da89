/**
 * A slow reference for policy decisions, written unlike the real code: no caches, no index, no compilation, regular
 * expressions for patterns, recursion for paths. The differential test compares the policy with it.
 */
import type { Risk, Verdict } from "../../packages/core/src/call.ts";
import type { Json } from "../../packages/core/src/json.ts";
import { risks, verdicts } from "../../packages/core/src/risk.ts";
import { digestOf } from "../../packages/core/src/system/digest.ts";
import type { Condition, Facts, HistoryLimit, PolicyOptions, Rule } from "../../packages/postern/src/policy/index.ts";
import { defaultMatrix } from "../../packages/postern/src/policy/risk/matrix.ts";

export interface Answer {
  readonly verdict: Verdict | "DENY";
  readonly risk: Risk;
  readonly observed?: Verdict | "DENY";
}

/** true, false, "missing" (the argument is absent) or "unclear" (it cannot be judged). */
type Truth = boolean | "missing" | "unclear";
type Reading = "permit" | "deny" | "ask";

const glob = (pattern: string, text: string): boolean =>
  new RegExp(`^${pattern.split("*").map(escaped).join("[^]*")}$`).test(text);
const escaped = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\/-]/g, "\\$&");
const fits = (pattern: string | undefined, name: string | undefined): boolean =>
  pattern === undefined || (name !== undefined && glob(pattern, name));
const listOf = <T>(given: T | readonly T[] | undefined): readonly T[] =>
  given === undefined ? [] : Array.isArray(given) ? given : [given as T];

/** Paths of the tests are `.name` and `[*]` only. "wrong" marks a step that does not fit. */
function valuesAt(value: unknown, steps: readonly string[]): readonly unknown[] {
  const [step, ...rest] = steps;
  if (value === undefined || step === undefined) return [value];
  if (step === "[*]") return Array.isArray(value) ? value.flatMap((one) => valuesAt(one, rest)) : [wrong];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [wrong];
  return valuesAt(Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined, rest);
}
const wrong = Symbol("wrong");
const stepsOf = (path: string): readonly string[] => path.match(/\[\*\]|[^.$[\]]+/g) ?? [];

function cleanPath(path: string, relativeTo = ""): string | undefined {
  if (path === "" || path.split("/").includes("..") || /[\\\0]|%[0-9a-f]{2}|^~|^[a-z][a-z0-9+.-]*:\//i.test(path))
    return;
  const whole = path.startsWith("/") || relativeTo === "" ? path : `${relativeTo}/${path}`;
  const parts = whole.split("/").filter((part) => part !== "" && part !== ".");
  return (whole.startsWith("/") ? "/" : "") + parts.join("/");
}

function inPath(pattern: string, text: string, relativeTo?: string): Truth {
  const path = cleanPath(text, relativeTo);
  if (path === undefined || path.startsWith("/") !== pattern.startsWith("/")) return "unclear";
  const body = pattern
    .split("/")
    .map((part) => (part === "**" ? "(?:[^/]+/)*" : `${part.split("*").map(escaped).join("[^/]*")}/`));
  return new RegExp(`^${body.join("")}$`).test(path === "/" ? "/" : `${path}/`);
}

function onHost(pattern: string, text: string): Truth {
  if (/[\\\s]/.test(text) || !/^(https?|wss?|ftp):\/\/[^/]/i.test(text) || !URL.canParse(text)) return "unclear";
  if (/[@%]/.test(text.split(/[/?#]/)[2] ?? "")) return "unclear";
  return glob(pattern, new URL(text).hostname.replace(/\.$/, ""));
}

const any = (truths: readonly Truth[]): Truth =>
  truths.includes(true) || (truths.includes("unclear") ? "unclear" : false);
const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);

function holds({ not, present, ...condition }: Condition, value: unknown): Truth {
  const { equals, oneOf, like, ignoreCase, path, relativeTo, host, above, atLeast, below, atMost, length } = condition;
  const truths: Truth[] = [];
  const add = (kind: string, truth: (given: never) => Truth): void => {
    if (value === undefined) truths.push("missing");
    else truths.push(kindOf(value) === kind ? truth(value as never) : "unclear");
  };
  const wanted = equals === undefined ? oneOf : [equals];
  if (wanted !== undefined) {
    const isOfNoKind = typeof value !== "object" && wanted.every((one) => one === null);
    if (value === undefined) truths.push("missing");
    else if (wanted.some((one) => digestOf(one) === digestOf(value as Json))) truths.push(true);
    else
      truths.push(
        value !== null && (isOfNoKind || wanted.some((one) => kindOf(one) === kindOf(value))) ? false : "unclear",
      );
  }
  if (like !== undefined)
    add("string", (text: string) =>
      listOf(like).some((one) => (ignoreCase ? glob(one.toLowerCase(), text.toLowerCase()) : glob(one, text))),
    );
  if (path !== undefined)
    add("string", (text: string) => any(listOf(path).map((one) => inPath(one, text, relativeTo))));
  if (host !== undefined) add("string", (text: string) => any(listOf(host).map((one) => onHost(one, text))));
  if (above !== undefined) add("number", (given: number) => given > above);
  if (atLeast !== undefined) add("number", (given: number) => given >= atLeast);
  if (below !== undefined) add("number", (given: number) => given < below);
  if (atMost !== undefined) add("number", (given: number) => given <= atMost);
  if (length !== undefined) {
    const long = typeof value === "string" || Array.isArray(value) ? value.length : undefined;
    if (value === undefined) truths.push("missing");
    else
      truths.push(
        long === undefined ? "unclear" : long >= (length.atLeast ?? 0) && long <= (length.atMost ?? Infinity),
      );
  }
  if (present !== undefined) truths.push((value !== undefined) === present);
  if (not !== undefined) {
    const inner = holds(not, value);
    truths.push(typeof inner === "boolean" ? !inner : inner);
  }
  return truths.find((one) => one === false) ?? truths.find((one) => one !== true) ?? true;
}

function applies(rule: Rule, facts: Facts, reading: Reading): boolean {
  const counts = (truth: Truth): boolean =>
    truth === true || (truth === "unclear" && reading !== "permit") || (truth === "missing" && reading === "deny");
  const fit = Object.entries(rule.arguments ?? {}).every(([path, condition]) => {
    const met = valuesAt(facts.arguments, stepsOf(path)).map((value) =>
      value === wrong ? "unclear" : holds(condition, value),
    );
    return reading === "permit" ? met.length > 0 && met.every(counts) : met.some(counts);
  });
  if (!fit || rule.history === undefined) return fit;
  const kept = listOf(rule.history).map((limit) => keeps(limit, rule, facts));
  if (rule.effect === "allow") return kept.every((one) => one === true);
  return kept.includes(false) || (reading !== "permit" && kept.includes("unclear"));
}

function keeps(limit: HistoryLimit, rule: Rule, facts: Facts): Truth {
  const history = facts.history[limit.within];
  if (history === undefined) return "unclear";
  const past = history.calls.filter(({ at }) => at > facts.now - (limit.windowSeconds ?? Infinity) * 1000);
  const own: HistoryLimit & { readonly server?: string } =
    limit.tool === undefined ? { ...pick(rule), ...limit } : limit;
  const isOf = (
    one: { tool: string; action: string; server?: string },
    by: { tool?: string; action?: string; server?: string },
  ): boolean => fits(by.tool, one.tool) && fits(by.action, one.action) && fits(by.server, one.server);
  const meant = (by: Partial<HistoryLimit>, usual: readonly string[]): typeof past =>
    past.filter((one) => {
      const states = listOf(by.state);
      const same = by.same === undefined || scalarAt(facts.arguments, by.same) === scalarAt(one.arguments, by.same);
      const there = by.same === undefined || scalarAt(facts.arguments, by.same) !== undefined;
      return (
        isOf(one, by) && (states.length > 0 ? states : usual).some((state) => state === one.state) && same && there
      );
    });
  const every = ["attempted", "ok", "failed", "unknown"];
  const truths: Truth[] = [];
  const counted = [
    ...meant(own, every).map((one) => one.arguments),
    ...(isOf(facts.tool, own) ? [facts.arguments] : []),
  ];
  if (limit.atMost !== undefined) truths.push(counted.length <= limit.atMost);
  if (limit.sum !== undefined) {
    const { path, atMost } = limit.sum;
    const numbers = counted.flatMap((args) => valuesAt(args, stepsOf(path)));
    const total = numbers.filter((one) => typeof one === "number").reduce((sum, one) => sum + Math.max(0, one), 0);
    truths.push(numbers.every((one) => typeof one === "number") ? total <= atMost + 1e-6 : "unclear");
  }
  const { requires, forbids } = limit;
  const blind = (by: { readonly same?: unknown }): boolean =>
    by.same !== undefined && scalarAt(facts.arguments, by.same) === undefined;
  if (requires !== undefined) truths.push(blind(requires) ? "unclear" : meant(requires, ["ok"]).length > 0);
  if (forbids !== undefined) truths.push(blind(forbids) ? "unclear" : meant(forbids, every).length === 0);
  return truths.includes(false) ? false : truths.includes("unclear") ? "unclear" : true;
}
const pick = ({ tool, action, server }: Rule): Pick<Rule, "tool" | "action" | "server"> => ({
  ...(tool !== undefined && { tool }),
  ...(action !== undefined && { action }),
  ...(server !== undefined && { server }),
});
const scalarAt = (args: unknown, path: unknown): unknown => {
  const [value] = valuesAt(args, stepsOf(String(path)));
  return typeof value === "object" && value !== null ? undefined : value === wrong ? undefined : value;
};

/** The only adjuster that these arbitraries can meet: `files__delete` and `purge` destroy. */
const destroys = ({ adjusters }: PolicyOptions, { tool }: Facts): boolean =>
  adjusters !== false &&
  tool.riskSource !== "operator" &&
  tool.effects !== "read" &&
  (tool.effects === "destructive" ||
    tool.action === "purge" ||
    (tool.action === "default" && tool.tool === "files__delete"));

/** The whole decision, in the order of docs/reference/policy.md, with `runtime` rules and skills, without `also`. */
export function reference(options: PolicyOptions, facts: Facts): Answer {
  const { tool, principal, autonomy, suggestion, skills } = facts;
  const suggested = suggestion?.risk ?? tool.risk;
  const rank = (risk: Risk): number => risks.indexOf(risk);
  const believed = tool.riskSource === "declared" || rank(suggested) > rank(tool.risk) ? suggested : tool.risk;
  const risk = destroys(options, facts) ? (risks[Math.min(rank(believed) + 1, 3)] ?? "critical") : believed;
  const speaks = (rule: Rule): boolean =>
    fits(rule.tool, tool.tool) &&
    fits(rule.action, tool.action) &&
    fits(rule.server, tool.server) &&
    fits(rule.principal?.tenant, principal.tenant) &&
    fits(rule.principal?.agent, principal.agent) &&
    fits(rule.principal?.user, principal.user) &&
    (rule.scope === undefined || tool.scopes.some((scope) => fits(rule.scope, scope))) &&
    (rule.effects === undefined || listOf(rule.effects).includes(tool.effects)) &&
    (rule.risk === undefined ||
      (rule.effect === "allow" ? rank(risk) <= rank(rule.risk) : rank(risk) >= rank(rule.risk)));
  const rules = (options.rules ?? []).filter(speaks);
  const runtime = (options.runtime ?? []).filter(speaks);
  const denies = (list: readonly Rule[]): boolean =>
    list.some((rule) => rule.effect === "deny" && applies(rule, facts, "deny"));
  const confirms = (list: readonly Rule[]): boolean =>
    list.some((rule) => rule.effect === "confirm" && applies(rule, facts, "ask"));
  const permits = rules.filter(
    (rule) =>
      (rule.effect === "allow" && applies(rule, facts, "permit")) ||
      (rule.effect === "confirm" &&
        (rule.risk === undefined || rank(believed) >= rank(rule.risk)) &&
        applies(rule, facts, "permit") &&
        applies(rule, facts, "ask")),
  );
  const own = tool.effects === "destructive" || tool.permissions.includes("shell");
  const keptDeny =
    denies(runtime) ||
    (own && !permits.some((rule) => rule.tool === tool.tool)) ||
    (skills?.allowedTools !== undefined && !skills.allowedTools.some((one) => glob(one, tool.tool))) ||
    !tool.scopes.every((scope) => facts.scopes.includes(scope));
  const softDeny = denies(rules) || (options.default === "deny" && permits.length === 0);

  const kept: Verdict[] = ["ALLOW"];
  const soft: Verdict[] = [];
  if (autonomy !== undefined)
    for (const level of risks.slice(rank(believed), rank(risk) + 1))
      (autonomy === "A0" ? kept : soft).push(options.matrix?.[autonomy]?.[level] ?? defaultMatrix[autonomy][level]);
  const operators = options.maxRiskUnapproved ?? (autonomy === undefined ? "safe" : undefined);
  const set = [operators, facts.maxRiskUnapproved]
    .filter((one) => one !== undefined)
    .map((one) => Math.min(2, rank(one)));
  if (set.length > 0) soft.push(rank(risk) > Math.min(...set) ? "CONFIRM" : "ALLOW");
  if (autonomy === undefined && tool.effects === "destructive") kept.push("CONFIRM");
  if (tool.scopes.includes("secrets:read")) kept.push(autonomy === "A0" ? "PREVIEW" : "CONFIRM");
  if (confirms(runtime)) kept.push("CONFIRM");
  if (confirms(rules)) soft.push("CONFIRM");
  const strictest = (list: readonly Verdict[]): Verdict =>
    verdicts[Math.max(...list.map((one) => verdicts.indexOf(one)))] ?? "BLOCK";
  const enforced = keptDeny || softDeny ? "DENY" : strictest([...kept, ...soft]);
  if (options.mode !== "observe") return { verdict: enforced, risk };
  const asked = strictest([...kept, risk === "critical" ? "CONFIRM" : "ALLOW"]);
  return { verdict: keptDeny ? "DENY" : asked, risk, observed: enforced };
}
