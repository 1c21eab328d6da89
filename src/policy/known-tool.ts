import type { Principal, Risk } from "../calls/call.ts";
import { rankOf } from "../calls/risk.ts";
import { asks, denies, permits } from "./condition.ts";
import { type Applied, needsOwnLine, type Permission, permissionFrom } from "./permission.ts";
import type { Decision, Facts, Reads, ToolFacts } from "./policy.ts";
import { type CompiledRule, type RuleBook, readsOf } from "./rules.ts";

/** More sets of rules than this for one tool are not kept: they would be as many as there are users, or arguments. */
const mostSelections = 1_000;

/** The rules that apply to a call, by name; all calls with the same ones share their decisions. */
export class Selection {
  /** What was decided under it, by everything else a decision hangs on (decide.ts). */
  readonly decisions: Map<number, Decision> = new Map();
  readonly #applied: readonly Applied[];
  readonly #tool: ToolFacts;
  readonly #otherwise: "allow" | "deny";
  readonly #byRank: (Permission | undefined)[] = [];
  /** A rule of the tool looks at arguments or at the past. */
  readonly hasConditions: boolean;

  constructor(applied: readonly Applied[], tool: ToolFacts, otherwise: "allow" | "deny") {
    this.#applied = applied;
    this.hasConditions = applied.some(({ rule }) => rule.demands !== undefined);
    this.#tool = tool;
    this.#otherwise = otherwise;
  }

  /** Rules on risk are held against the call's, once it is known. */
  permissionAt(risk: Risk): Permission {
    const rank = rankOf(risk);
    let permission = this.#byRank[rank];
    if (permission === undefined) {
      const applied = this.#applied.map((one) =>
        one.rule.fitsRisk?.(rank) === false ? { rule: one.rule, permits: false, strikes: false } : one,
      );
      permission = permissionFrom(applied, this.#tool, this.#otherwise);
      this.#byRank[rank] = permission;
    }
    return permission;
  }
}

/** What one principal's rules for a tool are. Those with conditions are judged call by call; the rest is settled. */
export class Standing {
  readonly rules: readonly CompiledRule[];
  readonly #tool: ToolFacts;
  readonly #otherwise: "allow" | "deny";
  readonly #conditional: readonly CompiledRule[];
  readonly #selections = new Map<number | string, Selection>();
  /** As if no condition held: what a report can say without a call. For a tool without conditions, all there is. */
  readonly settled: Selection;

  constructor(rules: readonly CompiledRule[], tool: ToolFacts, otherwise: "allow" | "deny") {
    this.rules = rules;
    this.#tool = tool;
    this.#otherwise = otherwise;
    this.#conditional = rules.filter(({ demands }) => demands !== undefined);
    this.settled = this.#selection(this.#conditional.map(() => 0));
  }

  select(facts: Facts): Selection {
    const conditional = this.#conditional;
    if (conditional.length === 0) return this.settled;
    let key = 0;
    const held: number[] = [];
    for (const rule of conditional) {
      const use = useOf(rule, facts);
      held.push(use);
      key = key * 4 + use;
    }
    const name = conditional.length <= 26 ? key : held.join(""); // 4 ** 26 is the last that a number holds exactly
    let selection = this.#selections.get(name);
    if (selection === undefined) {
      selection = this.#selection(held);
      if (this.#selections.size >= mostSelections) this.#selections.clear();
      this.#selections.set(name, selection);
    }
    return selection;
  }

  /** Whether some call of the tool could be permitted. */
  offers(observing: boolean): boolean {
    const { risk, riskSource } = this.#tool;
    const lowest = riskSource === "declared" ? 0 : rankOf(risk); // the tool itself may call one call harmless
    const sure = this.rules.filter(
      ({ effect, origin, demands, fitsRisk }) =>
        effect === "deny" &&
        demands === undefined &&
        fitsRisk?.(lowest) !== false &&
        !(observing && origin === "config"),
    );
    if (sure.length > 0) return false;
    const permits = this.rules.filter(
      ({ effect, origin, fitsRisk }) =>
        effect !== "deny" && origin === "config" && (effect === "confirm" || fitsRisk?.(lowest) !== false),
    );
    if (needsOwnLine(this.#tool) && !permits.some(({ namesTool }) => namesTool)) return false;
    return observing || this.#otherwise === "allow" || permits.length > 0;
  }

  #selection(held: readonly number[]): Selection {
    let at = 0;
    const applied = this.rules.map((rule): Applied => {
      const use = rule.demands === undefined ? (rule.effect === "allow" ? 1 : 3) : (held[at++] ?? 0);
      return {
        rule,
        permits: (use & 1) > 0 && rule.effect !== "deny" && rule.origin === "config",
        strikes: (use & 2) > 0,
      };
    });
    return new Selection(applied, this.#tool, this.#otherwise);
  }
}

/** 1: it permits; 2: it strikes. An allow only permits, a deny only strikes, a confirm never permits what it does not ask about. */
function useOf({ effect, demands }: CompiledRule, facts: Facts): number {
  const held = demands?.(facts) ?? permits | denies | asks;
  if (effect === "allow") return held & permits;
  if (effect === "deny") return held & denies;
  if ((held & asks) === 0) return 0;
  return (held & permits) > 0 ? 3 : 2;
}

interface Recognised {
  readonly tenant: string;
  readonly agent: string;
  readonly user: string | undefined;
  readonly standing: Standing;
}

/** A tool the policy has met: the rules that concern it were sorted out once, and its decisions are found again. */
export class KnownTool {
  readonly reads: Reads | undefined;
  readonly #facts: ToolFacts;
  readonly #scopes: readonly string[];
  readonly #permissions: readonly string[];
  readonly #otherwise: "allow" | "deny";
  readonly #rules: readonly CompiledRule[];
  readonly #forEverybody: Standing | undefined;
  readonly #principals = new WeakMap<Principal, Recognised>();
  readonly #standings = new Map<string, Standing>();

  constructor(facts: ToolFacts, book: RuleBook, otherwise: "allow" | "deny") {
    if (typeof facts.tool !== "string" || typeof facts.action !== "string")
      throw new TypeError("The tool or its action has no name.");
    this.#scopes = [...facts.scopes];
    this.#permissions = [...facts.permissions];
    this.#facts = { ...facts, scopes: this.#scopes, permissions: this.#permissions };
    this.#otherwise = otherwise;
    this.#rules = book.rulesFor(this.#facts);
    this.reads = readsOf(this.#rules);
    const personal = this.#rules.some(({ fitsPrincipal }) => fitsPrincipal !== undefined);
    this.#forEverybody = personal ? undefined : new Standing(this.#rules, this.#facts, otherwise);
  }

  /** Facts are compared, not trusted to be frozen: a stale decision would be a wrong one. */
  isStill(facts: ToolFacts): boolean {
    const known = this.#facts;
    if (known.tool !== facts.tool || known.action !== facts.action || known.server !== facts.server) return false;
    if (known.risk !== facts.risk || known.riskSource !== facts.riskSource || known.effects !== facts.effects)
      return false;
    return (
      known.openWorld === facts.openWorld &&
      same(facts.scopes, this.#scopes) &&
      same(facts.permissions, this.#permissions)
    );
  }

  /** @throws TypeError for nobody: an unknown principal is denied, also where no rule asks who it is */
  standingOf(principal: Principal): Standing {
    if (typeof principal.tenant !== "string" || typeof principal.agent !== "string")
      throw new TypeError("The principal has no tenant or no agent.");
    if (this.#forEverybody !== undefined) return this.#forEverybody;
    const { tenant, agent, user } = principal;
    const met = this.#principals.get(principal);
    if (met !== undefined && met.tenant === tenant && met.agent === agent && met.user === user) return met.standing;
    const standing = this.#standingFor(principal);
    this.#principals.set(principal, { tenant, agent, user, standing });
    return standing;
  }

  /** Principals for whom the same rules speak share one standing, and so its decisions. */
  #standingFor(principal: Principal): Standing {
    const rules = this.#rules.filter(({ fitsPrincipal }) => fitsPrincipal === undefined || fitsPrincipal(principal));
    const key = rules.map(({ index }) => index).join();
    const known = this.#standings.get(key);
    if (known !== undefined) return known;
    const standing = new Standing(rules, this.#facts, this.#otherwise);
    if (this.#standings.size >= mostSelections) this.#standings.clear();
    this.#standings.set(key, standing);
    return standing;
  }
}

function same(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i += 1) if (one[i] !== other[i]) return false;
  return true;
}
