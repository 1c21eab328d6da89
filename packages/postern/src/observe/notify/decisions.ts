import { type Actor, type ApprovalRecord, type Clock, defined, type Json, permissionsOf } from "@postern/core";
import type { z } from "zod";
import {
  type Decider,
  type DecisionAnswer,
  type DecisionProblem,
  type DecisionRequest,
  noApproval,
} from "../../approvals/decision.ts";
import { keysOf, schemaProblems } from "../../checks/schema-problems.ts";
import { lazySchema } from "../../checks/zod.ts";
import type { Account } from "../../identity/accounts.ts";
import { Collection } from "../../store/collection.ts";
import type { Store } from "../../store/store.ts";
import { isSignedBy, isSignedBySlack, keyFrom } from "./signature.ts";

/** Who may decide through a channel, and what signs its decisions. */
export interface DecisionOptions {
  readonly name: string;
  /** How it is signed. Default: Standard Webhooks. */
  readonly scheme?: "slack";
  /** What signs: `secret://connector/key`. */
  readonly secret: string;
  /** Without it, only the tenant `default`. */
  readonly tenants?: readonly string[];
  /** Names in the channel, and the users that they are here. */
  readonly users: Readonly<Record<string, string>>;
}

export interface DecisionDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly reveal: (text: string) => Promise<string>;
  readonly approval: (id: string) => Promise<ApprovalRecord | undefined>;
  readonly decide: (id: string, request: DecisionRequest) => Promise<DecisionAnswer>;
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
  | { readonly taken: true; readonly decided: DecisionAnswer }
  | { readonly taken: false; readonly code: keyof typeof channelProblems | DecisionProblem; readonly message: string };

const toleranceSeconds = 300;
/** Ids are remembered as long as a timestamp is accepted. */
const rememberedMs = 2 * toleranceSeconds * 1000;
/** Within that time; people make fewer decisions. */
const mostSeen = 2_000;
const keyLifetimeMs = 30_000;
/** A message has no typed name and no signed-in person. */
const onlySignedIn: ReadonlySet<DecisionProblem> = new Set(["confirmation_needed", "sign_in_needed"]);
const idPattern = /^[\x21-\x7e]{1,200}$/;

/** Receives decisions through channels. They follow the same rules as others; critical calls are decided in the console only. */
export class DecisionReceiver {
  readonly #channels: ReadonlyMap<string, DecisionOptions>;
  readonly #dependencies: DecisionDependencies;
  /** The recent messages of each channel. */
  readonly #seen: Collection<readonly SeenMessage[]>;
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
    const refusal = await this.verify(name, incoming);
    if (refusal !== undefined) return refusal;
    const parsed = decisionIn(incoming.body);
    return "code" in parsed ? parsed : this.take(name, incoming, parsed);
  }

  /** Whether the channel signed it just now. Returns why not. */
  async verify(name: string, incoming: Incoming, scheme?: DecisionOptions["scheme"]): Promise<Refused | undefined> {
    const channel = this.#channels.get(name);
    // The same answer if the channel does not exist, so that a sender without the key learns nothing.
    const isGenuine = channel?.scheme === scheme && channel !== undefined && (await this.#isGenuine(channel, incoming));
    return isGenuine
      ? undefined
      : refused("signature_refused", "The signature, its id or its timestamp is not good for this channel.");
  }

  /** Decides what a verified message says, once. */
  async take(name: string, { id }: Pick<Incoming, "id">, decided: SentDecision): Promise<Received> {
    const channel = this.#channels.get(name);
    if (channel === undefined || !(await this.#isFirst(name, id ?? "")))
      return refused(
        "webhook_replayed",
        `The message \`${id}\` was taken already, or too many came; decide in the console.`,
      );
    return this.#decide(channel, decided);
  }

  async #decide(
    channel: DecisionOptions,
    { approval_id: approvalId, user, decision, reason, expected_digest: expectedDigest }: SentDecision,
  ): Promise<Received> {
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
    const decided = await this.#dependencies.decide(approvalId, defined({ decision, by, reason, expectedDigest }));
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
    const isSigned = channel.scheme === "slack" ? isSignedBySlack : isSignedBy;
    return isSigned(key, signed, signature) && isNow;
  }

  #key({ name, secret }: DecisionOptions): Promise<Buffer | undefined> {
    const now = this.#dependencies.clock.monotonic();
    const known = this.#keys.get(name);
    if (known !== undefined && known.until > now) return known.key;
    const key = this.#dependencies.reveal(secret).then(keyFrom);
    key.catch(() => this.#keys.delete(name)); // the waiting caller gets the error
    this.#keys.set(name, { key, until: now + keyLifetimeMs });
    return key;
  }

  /** Written before the decision, so that a message acts at most once, also over a crash. */
  async #isFirst(name: string, id: string): Promise<boolean> {
    const { changed } = await this.#seen.change(name, (before = []) => {
      const now = this.#dependencies.clock.now();
      const seen = before.filter(({ at }) => now - at <= rememberedMs);
      if (seen.length >= mostSeen || seen.some((one) => one.id === id)) return undefined;
      return { item: [...seen, { id, at: now }], durability: "synced" };
    });
    return changed;
  }

  async #decider({ name, users }: DecisionOptions, sender: string, tenant: string): Promise<Decider | undefined> {
    const user = Object.hasOwn(users, sender) ? users[sender] : undefined;
    if (user === undefined) return undefined;
    const via = `channel:${name}`;
    const by: Decider = { user, via, tenant, signedIn: false };
    if (!this.#dependencies.people.exist) return by;
    try {
      const account = await this.#dependencies.people.get(user, { by: via, via, tenant });
      const may = !account.disabled && permissionsOf(account.roles, account.tenant).has("approvals:decide");
      // The account's own name counts, so upper and lower case are one person.
      return may ? { ...by, user: account.name, roles: account.roles, groups: account.groups } : undefined;
    } catch {
      return undefined; // the account no longer exists
    }
  }
}

const schemas = lazySchema((zod) => {
  const text = zod.string();
  return {
    decision: zod.strictObject({
      ...{ approval_id: text, user: text, decision: zod.enum(["approved", "denied", "skipped"]) },
      ...{ reason: text.max(2_000).exactOptional(), expected_digest: text.exactOptional() },
    }),
    seen: zod.object({ seen: zod.array(zod.object({ id: text, at: zod.number() })) }),
  };
});

type Refused = Extract<Received, { taken: false }>;
type SentDecision = z.infer<ReturnType<typeof schemas>["decision"]>;

function decisionIn(body: string): SentDecision | Refused {
  const schema = schemas().decision;
  const value = jsonIn(body);
  if (value === undefined) return refused("decision_invalid", "The body is no JSON.");
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const written = { value, schema: keysOf(schema), language: "file" } as const;
    const [problem] = schemaProblems(parsed.error.issues, written);
    return refused("decision_invalid", `The body is wrong: ${problem?.message ?? ""} ${problem?.fix ?? ""}`.trim());
  }
  // A message may show anything; the digest proves which call the person saw.
  if (parsed.data.decision === "approved" && parsed.data.expected_digest === undefined)
    return refused(
      "decision_invalid",
      "A yes must bring `expected_digest`: the `shown_digest` of the notice it answers.",
    );
  return parsed.data;
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

interface SeenMessage {
  readonly id: string;
  readonly at: number;
}

function seenIn(body: Json): readonly SeenMessage[] {
  const parsed = schemas().seen.safeParse(body);
  return parsed.success ? parsed.data.seen : [];
}

function refused(code: Refused["code"], message: string): Refused {
  return { taken: false, code, message };
}
