import type { Principal } from "../calls/call.ts";
import type { Reason } from "../calls/event.ts";
import type { Decision, ToolFacts } from "./policy.ts";
import type { CompiledRule, RuleBook } from "./rules.ts";

/** Whether a principal may use a tool at all, before anybody asks how dangerous it is (SPEC 5). */
export interface Permission {
  readonly allowed: boolean;
  /** What granted or refused it. */
  readonly reasons: readonly Reason[];
  /** The rules that want a person asked. */
  readonly confirms: readonly Reason[];
  /** What was decided under it, by everything else a decision hangs on (decide.ts). */
  readonly decisions: Map<number, Decision>;
}

const allowedByDefault: Reason = Object.freeze({ rule: "default: allow", says: "ALLOW" });
const deniedByDefault: Reason = Object.freeze({ rule: "default: deny", says: "DENY" });

/** Deny wins; an allow or a confirm permits what the default refuses; destructive effects need a line that names the tool (D27). */
export function permissionFrom(
  rules: readonly CompiledRule[],
  tool: ToolFacts,
  otherwise: "allow" | "deny",
): Permission {
  const denies = rules.filter(({ effect }) => effect === "deny");
  if (denies.length > 0) return permission(false, reasonsOf(denies), []);
  const permits = rules; // no deny among them: each allows, or allows after a question
  if (tool.effects !== "read" && tool.effects !== "write" && !permits.some(({ namesTool }) => namesTool)) {
    return permission(
      false,
      [{ rule: `default: destructive needs a rule that names \`${tool.tool}\``, says: "DENY" }],
      [],
    );
  }
  if (otherwise === "deny" && permits.length === 0) return permission(false, [deniedByDefault], []);
  const allows = permits.filter(({ effect }) => effect === "allow");
  const confirms = permits.filter(({ effect }) => effect === "confirm");
  return permission(true, permits.length === 0 ? [allowedByDefault] : reasonsOf(allows), reasonsOf(confirms));
}

function permission(allowed: boolean, reasons: readonly Reason[], confirms: readonly Reason[]): Permission {
  return { allowed, reasons, confirms, decisions: new Map() };
}

function reasonsOf(rules: readonly CompiledRule[]): readonly Reason[] {
  return rules.map(({ reason }) => reason);
}

interface Recognised {
  readonly tenant: string;
  readonly agent: string;
  readonly user: string | undefined;
  readonly permission: Permission;
}

/** More sets of rules than this for one tool are not kept: they would be as many as there are users. */
const mostPermissions = 1_000;

/** A tool the policy has met: the rules that concern it were sorted out once, and its decisions are found again. */
export class KnownTool {
  readonly #facts: ToolFacts;
  readonly #scopes: readonly string[];
  readonly #otherwise: "allow" | "deny";
  readonly #rules: readonly CompiledRule[];
  readonly #forEverybody: Permission | undefined;
  readonly #principals = new WeakMap<Principal, Recognised>();
  readonly #permissions = new Map<string, Permission>();

  constructor(facts: ToolFacts, book: RuleBook, otherwise: "allow" | "deny") {
    if (typeof facts.tool !== "string" || typeof facts.action !== "string")
      throw new TypeError("The tool or its action has no name.");
    this.#facts = { ...facts };
    this.#scopes = [...facts.scopes];
    this.#otherwise = otherwise;
    this.#rules = book.rulesFor(facts);
    const personal = this.#rules.some(({ fitsPrincipal }) => fitsPrincipal !== undefined);
    this.#forEverybody = personal ? undefined : permissionFrom(this.#rules, facts, otherwise);
  }

  /** Facts are compared, not trusted to be frozen: a stale decision would be a wrong one. */
  isStill(facts: ToolFacts): boolean {
    const known = this.#facts;
    if (known.tool !== facts.tool || known.action !== facts.action || known.server !== facts.server) return false;
    if (known.risk !== facts.risk || known.riskSource !== facts.riskSource || known.effects !== facts.effects)
      return false;
    const { scopes } = facts;
    if (scopes.length !== this.#scopes.length) return false;
    for (let i = 0; i < scopes.length; i += 1) if (scopes[i] !== this.#scopes[i]) return false;
    return true;
  }

  /** @throws TypeError for nobody: an unknown principal is denied, also where no rule asks who it is */
  permissionOf(principal: Principal): Permission {
    if (typeof principal.tenant !== "string" || typeof principal.agent !== "string")
      throw new TypeError("The principal has no tenant or no agent.");
    if (this.#forEverybody !== undefined) return this.#forEverybody;
    const { tenant, agent, user } = principal;
    const met = this.#principals.get(principal);
    if (met !== undefined && met.tenant === tenant && met.agent === agent && met.user === user) return met.permission;
    const permission = this.#permissionFor(principal);
    this.#principals.set(principal, { tenant, agent, user, permission });
    return permission;
  }

  /** Principals for whom the same rules speak share one permission, and so its decisions. */
  #permissionFor(principal: Principal): Permission {
    const rules = this.#rules.filter(({ fitsPrincipal }) => fitsPrincipal === undefined || fitsPrincipal(principal));
    const key = rules.map(({ number }) => number).join();
    const known = this.#permissions.get(key);
    if (known !== undefined) return known;
    const permission = permissionFrom(rules, this.#facts, this.#otherwise);
    if (this.#permissions.size >= mostPermissions) this.#permissions.clear();
    this.#permissions.set(key, permission);
    return permission;
  }
}
