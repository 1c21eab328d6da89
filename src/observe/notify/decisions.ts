import {
  type Decided,
  type Decider,
  type DecisionProblem,
  type DecisionRequest,
  noApproval,
} from "../../approvals/decision.ts";
import type { Actor } from "../../core/actor.ts";
import type { Clock } from "../../core/clock.ts";
import { isJsonObject, type Json } from "../../core/json.ts";
import type { ApprovalRecord } from "../../core/records.ts";
import type { Account } from "../../identity/accounts.ts";
import { permissionsOf } from "../../identity/roles.ts";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import { isSignedBy, keyFrom } from "./signature.ts";

/** Who may decide through a channel, and what signs its decisions. */
export interface DecisionOptions {
  readonly name: string;
  /** What signs: `secret://connector/key`. */
  readonly secret: string;
  /** None: those of tenant `default`. */
  readonly tenants?: readonly string[];
  /** Names over there, and who they are here. */
  readonly users: Readonly<Record<string, string>>;
}

export interface DecisionDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly reveal: (text: string) => Promise<string>;
  readonly approval: (id: string) => Promise<ApprovalRecord | undefined>;
  readonly decide: (id: string, request: DecisionRequest) => Promise<Decided>;
  readonly people: {
    readonly exist: boolean;
    get(name: string, actor: Actor): Promise<Account>;
  };
}

/** A request as it came in. Nothing in it counts before its signature over these bytes was verified. */
export interface Incoming {
  readonly id: string | null;
  readonly timestamp: string | null;
  readonly signature: string | null;
  readonly body: string;
}

export const channelProblems = {
  channel_unknown: 404,
  signature_refused: 401,
  webhook_replayed: 409,
  console_only: 403,
  decider_unknown: 403,
} as const;

export type Received =
  | { readonly taken: true; readonly decided: Decided }
  | { readonly taken: false; readonly code: keyof typeof channelProblems | DecisionProblem; readonly message: string };

const toleranceSeconds = 300;
/** Ids are remembered as long as a timestamp is accepted. */
const keptMs = 2 * toleranceSeconds * 1000;
/** Within that time; people make fewer decisions. */
const mostSeen = 2_000;
const keyKeptMs = 30_000;
/** A message has no typed name and no signed-in person. */
const onlySignedIn: ReadonlySet<DecisionProblem> = new Set(["confirmation_needed", "sign_in_needed"]);
const idPattern = /^[\x21-\x7e]{1,200}$/;

/** Receives decisions through channels. They follow the same rules as others; critical calls are decided in the console only. */
export class DecisionReceiver {
  readonly #channels: ReadonlyMap<string, DecisionOptions>;
  readonly #dependencies: DecisionDependencies;
  /** The recent messages of each channel. */
  readonly #seen: Collection<readonly Seen[]>;
  /** Anyone can send requests here, so a request must not fetch a secret each time. */
  readonly #keys = new Map<string, { readonly key: Promise<Buffer | undefined>; readonly until: number }>();

  constructor(channels: readonly DecisionOptions[], dependencies: DecisionDependencies) {
    this.#channels = new Map(channels.map((channel) => [channel.name, channel]));
    this.#dependencies = dependencies;
    this.#seen = new Collection({
      ...{ store: dependencies.store, kind: "channel-seen", read: seenIn },
      write: (seen) => ({ seen: seen.map((one) => ({ ...one })) }),
    });
  }

  async receive(name: string, incoming: Incoming): Promise<Received> {
    const channel = this.#channels.get(name);
    // The same answer if the channel does not exist, so that a sender without the key learns nothing.
    if (channel === undefined || !(await this.#isGenuine(channel, incoming)))
      return refused("signature_refused", "The signature, its id or its timestamp is not good for this channel.");
    const parsed = decisionIn(incoming.body);
    if ("code" in parsed) return parsed;
    if (!(await this.#isFirst(name, incoming.id ?? "")))
      return refused(
        "webhook_replayed",
        `The message \`${incoming.id}\` was taken already, or too many came; decide in the console.`,
      );
    const { approvalId, user, ...request } = parsed;
    const tenants = channel.tenants ?? ["default"];
    const approval = await this.#dependencies.approval(approvalId);
    if (approval === undefined || !tenants.includes(approval.principal.tenant))
      return refused("approval_unknown", noApproval(approvalId));
    if (approval.risk === "critical")
      return refused("console_only", "This call is critical: decide it in the console.");
    const by = await this.#decider(channel, user, approval.principal.tenant);
    if (by === undefined)
      return refused(
        "decider_unknown",
        `\`${user.slice(0, 200)}\` may decide nothing here; an operator maps names to people in \`channels\`.`,
      );
    const decided = await this.#dependencies.decide(approvalId, { ...request, by });
    if (!decided.decided && onlySignedIn.has(decided.code))
      return refused("console_only", `This call is approved in the console alone. ${decided.message}`);
    return { taken: true, decided };
  }

  async #isGenuine(channel: DecisionOptions, { id, timestamp, signature, body }: Incoming): Promise<boolean> {
    if (id === null || timestamp === null || signature === null) return false;
    if (!idPattern.test(id) || !/^\d{1,12}$/.test(timestamp)) return false;
    const key = await this.#key(channel);
    if (key === undefined) return false;
    const signed = { id, timestamp: Number(timestamp), body };
    if (String(signed.timestamp) !== timestamp) return false;
    const isNow = Math.abs(this.#dependencies.clock.now() / 1000 - signed.timestamp) <= toleranceSeconds;
    return isSignedBy(key, signed, signature) && isNow;
  }

  #key({ name, secret }: DecisionOptions): Promise<Buffer | undefined> {
    const now = this.#dependencies.clock.monotonic();
    const known = this.#keys.get(name);
    if (known !== undefined && known.until > now) return known.key;
    const key = this.#dependencies.reveal(secret).then(keyFrom);
    key.catch(() => this.#keys.delete(name)); // the waiting caller gets the error
    this.#keys.set(name, { key, until: now + keyKeptMs });
    return key;
  }

  /** Written before the decision, so that a message acts at most once, also over a crash. */
  async #isFirst(name: string, id: string): Promise<boolean> {
    const { changed } = await this.#seen.change(name, (before = []) => {
      const now = this.#dependencies.clock.now();
      const seen = before.filter(({ at }) => now - at <= keptMs);
      if (seen.length >= mostSeen || seen.some((one) => one.id === id)) return undefined;
      return { item: [...seen, { id, at: now }], durability: "synced" };
    });
    return changed;
  }

  async #decider({ name, users }: DecisionOptions, theirs: string, tenant: string): Promise<Decider | undefined> {
    const user = Object.hasOwn(users, theirs) ? users[theirs] : undefined;
    if (user === undefined) return undefined;
    const via = `channel:${name}`;
    const by: Decider = { user, via, tenant, signedIn: false };
    if (!this.#dependencies.people.exist) return by;
    try {
      const account = await this.#dependencies.people.get(user, { by: via, via, tenant });
      const may = !account.disabled && permissionsOf(account.roles, account.tenant).has("approvals:decide");
      // The account's own name counts, so that two spellings are one person.
      return may ? { ...by, user: account.name, roles: account.roles, groups: account.groups } : undefined;
    } catch {
      return undefined; // no such account: the mapping is older than the people
    }
  }
}

type ParsedDecision = Pick<DecisionRequest, "decision" | "reason" | "expectedDigest"> & {
  readonly approvalId: string;
  readonly user: string;
};

function decisionIn(body: string): ParsedDecision | Extract<Received, { taken: false }> {
  let value: Json;
  try {
    value = JSON.parse(body) as Json; // JSON.parse makes nothing but JSON
  } catch {
    return refused("decision_invalid", "The body is no JSON.");
  }
  if (!isJsonObject(value)) return refused("decision_invalid", "The body is no JSON object.");
  const { approval_id: approvalId, decision, user, reason, expected_digest: expectedDigest, ...more } = value;
  const [odd] = Object.keys(more);
  if (odd !== undefined) return refused("decision_invalid", `The body has an unknown field \`${odd.slice(0, 100)}\`.`);
  if (typeof approvalId !== "string" || typeof user !== "string")
    return refused("decision_invalid", "`approval_id` and `user` must be there, as text.");
  if (decision !== "approved" && decision !== "denied" && decision !== "skipped")
    return refused("decision_invalid", "`decision` must be `approved`, `denied` or `skipped`; edit in the console.");
  if (reason !== undefined && (typeof reason !== "string" || reason.length > 2_000))
    return refused("decision_invalid", "`reason` must be text of at most 2000 characters.");
  if (expectedDigest !== undefined && typeof expectedDigest !== "string")
    return refused("decision_invalid", "`expected_digest` must be text.");
  // A message may show anything; the digest proves which call the person saw.
  if (decision === "approved" && expectedDigest === undefined)
    return refused(
      "decision_invalid",
      "A yes must bring `expected_digest`: the `shown_digest` of the notice it answers.",
    );
  return {
    ...{ approvalId, user, decision },
    ...(reason !== undefined && { reason }),
    ...(expectedDigest !== undefined && { expectedDigest }),
  };
}

interface Seen {
  readonly id: string;
  readonly at: number;
}

function seenIn(body: Json): readonly Seen[] {
  const seen = isJsonObject(body) ? body["seen"] : undefined;
  if (!Array.isArray(seen)) return [];
  return seen.flatMap((one: Json) => {
    if (!isJsonObject(one)) return [];
    const { id, at } = one;
    return typeof id === "string" && typeof at === "number" ? [{ id, at }] : [];
  });
}

function refused(
  code: Extract<Received, { taken: false }>["code"],
  message: string,
): Extract<Received, { taken: false }> {
  return { taken: false, code, message };
}
