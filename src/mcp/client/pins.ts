/**
 * Which definition of each upstream tool is trusted (D22): pinned when it is first seen, or, for a server that is
 * `pin: strict`, when an operator approves it; from then on only an operator's word changes it.
 *
 * Invariant: what is pinned outlives restarts, and its event is written with it. A definition is approved by its digest,
 * so nobody approves what was put in its place after he looked.
 * Next: definition.ts (what is pinned), server-collection.ts (what that means for a tool), differences.ts (what changed).
 */
import { type Actor, checkWho } from "../../core/actor.ts";
import type { Clock } from "../../core/clock.ts";
import type { NotedEvent } from "../../core/event.ts";
import { newTraceId } from "../../core/ids.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { cleanJson } from "../../results/clean.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import { LiveCollection } from "../../store/live-collection.ts";
import type { Store } from "../../store/store.ts";
import type { Definition } from "./definition.ts";
import { changedFields, type Difference, differences } from "./differences.ts";
import { KnownServers } from "./known-servers.ts";
import { type Pin, pinFromJson, pinKind, pinToJson, type StoredDefinition } from "./pin.ts";

export interface PinsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly policyVersion: string;
  /** What a server says may hold a secret it was lent: the digest is of what it said, what is kept is masked. */
  readonly redactor: Redactor;
  readonly log: (problem: string) => void;
}

/** What stands against a tool, and what an operator would approve. */
export interface ToolChanges extends Pin {
  readonly state: "pinned" | "changed" | "new";
  /** From what is pinned to what is offered; of a new tool, all of it. */
  readonly differences: readonly Difference[];
}

/** By the authenticated operator. */
export interface ToolApproval extends Actor {
  /** The digest of the definition that was looked at. */
  readonly definition: string;
  readonly reason?: string | undefined;
}

export type ToolApproved =
  | { readonly approved: true; readonly changes: ToolChanges }
  | {
      readonly approved: false;
      readonly why: "tool_unknown" | "definition_differs";
      readonly message: string;
      readonly changes?: ToolChanges;
    };

/** The operator's side of it. */
export interface ToolPins {
  /** Undefined: no server ever had such a tool. */
  changes(tool: string): ToolChanges | undefined;
  /** In the order of their names; of one server, or of all. */
  list(server?: string): readonly ToolChanges[];
  /** Resolves when the tool can be called. What is pinned already is approved again without a record. */
  approve(tool: string, approval: ToolApproval): Promise<ToolApproved>;
}

type PinFollower = (tool: string) => Promise<void>;
type Event = Pick<NotedEvent, "type" | "summary" | "outcome" | "by" | "via"> & { readonly data: JsonObject };
type PinChange = { readonly pin: Pin; readonly event: Event };

export async function openPins(options: PinsOptions): Promise<Pins> {
  const pins = new Pins(options);
  await pins.read();
  return pins;
}

export class Pins implements ToolPins {
  readonly servers: KnownServers;
  readonly #options: PinsOptions;
  readonly #pins: LiveCollection<Pin | undefined>;
  readonly #followers = new Map<string, PinFollower>();

  constructor(options: PinsOptions) {
    const { store, clock, log } = options;
    this.#options = options;
    this.#pins = new LiveCollection<Pin | undefined>({
      ...{ store, kind: pinKind, write: (pin) => (pin === undefined ? null : pinToJson(pin)) },
      read: (body, tool) => {
        const pin = pinFromJson(body);
        if (pin === undefined)
          log(`The pin of \`${tool}\` is not what Postern writes; an operator must approve the tool again.`);
        return pin;
      },
    });
    this.servers = new KnownServers(store, clock);
  }

  async read(): Promise<void> {
    await this.#pins.readAll();
  }

  get(tool: string): Pin | undefined {
    return this.#pins.at(tool);
  }

  /** Told after an approval, before `approve` resolves. One for each server. */
  follow(server: string, follower: PinFollower): void {
    this.#followers.set(server, follower);
  }

  changes(tool: string): ToolChanges | undefined {
    const pin = this.get(tool);
    if (pin === undefined) return undefined;
    const { pinned, offered } = pin;
    const state = offered === undefined ? "pinned" : pinned === undefined ? "new" : "changed";
    return { ...pin, state, differences: offered === undefined ? [] : differences(pinned?.body, offered.body) };
  }

  list(server?: string): readonly ToolChanges[] {
    return this.#pins.items
      .flatMap((pin) => (pin !== undefined && (server === undefined || pin.server === server) ? [pin.tool] : []))
      .sort()
      .flatMap((tool) => this.changes(tool) ?? []);
  }

  /** Whether a tool is trusted as it is first seen. Not where something is known of it that waits or cannot be read. */
  trusts(tool: string, strict: boolean): boolean {
    return !strict && !this.#pins.has(tool);
  }

  /**
   * The server says this of its tool now; what differs from before is recorded. `strict`: a new tool is not trusted by
   * itself.
   *
   * @throws what the store throws: then nothing was recorded
   */
  async sight({ server, tool }: Pick<Pin, "server" | "tool">, seen: Definition, strict: boolean): Promise<void> {
    await this.#change(tool, (pin) => {
      if (pin?.offered?.digest === seen.digest) return undefined;
      const { pinned } = pin ?? {};
      if (pinned?.digest === seen.digest) return pin?.offered && restored({ server, tool, pinned });
      const kept: StoredDefinition = {
        body: this.#clean(seen.body),
        digest: seen.digest,
        at: this.#options.clock.now(),
      };
      if (pinned !== undefined) return changed({ server, tool, pinned, offered: kept });
      return this.trusts(tool, strict)
        ? firstSeen({ server, tool, pinned: kept })
        : unapproved({ server, tool, offered: kept });
    });
  }

  async approve(tool: string, approval: ToolApproval): Promise<ToolApproved> {
    checkWho(approval, "approval_invalid");
    const { definition, by, via } = approval;
    const at = this.#options.clock.now();
    let refused: ToolApproved | undefined;
    const pin = await this.#change(tool, (now) => {
      refused = refusalOf(tool, now, definition);
      const { server = "", pinned, offered } = now ?? {};
      if (refused !== undefined || offered === undefined || definition !== offered.digest) return undefined;
      const { body, digest } = offered;
      return approvedBy({ server, tool, pinned: { body, digest, at, by, via } }, approval, pinned?.digest);
    });
    if (refused !== undefined) return refused;
    await this.#followers.get(pin?.server ?? "")?.(tool);
    const changes = this.changes(tool);
    return changes === undefined ? unknown(tool) : { approved: true, changes };
  }

  async #change(tool: string, next: (pin: Pin | undefined) => PinChange | undefined): Promise<Pin | undefined> {
    const { item } = await this.#pins.change(tool, (before) => {
      const change = next(before);
      if (change === undefined) return undefined;
      const durability = change.event.by === undefined ? "committed" : "synced";
      return { item: change.pin, event: this.#eventOf(change.event), durability };
    });
    return item;
  }

  #clean(body: JsonObject): JsonObject {
    const { value } = cleanJson(body, this.#options.redactor);
    return isJsonObject(value) ? value : {};
  }

  #eventOf(event: Event): NotedEvent {
    const { clock, policyVersion } = this.#options;
    return { moment: "noted", at: clock.now(), traceId: newTraceId(), tenant: "default", policyVersion, ...event };
  }
}

function firstSeen(pin: Pin): PinChange {
  const { server, tool, pinned } = pin;
  const data = { server, tool, definition: pinned?.digest ?? "" };
  const summary = `The definition of \`${tool}\` is pinned as it was first seen.`;
  return { pin, event: { type: "mcp.tool_pinned", summary, outcome: "info", data } };
}

function unapproved(pin: Pin): PinChange {
  const { server, tool, offered } = pin;
  const data = { server, tool, definition: offered?.digest ?? "" };
  const summary = `\`${tool}\` is new and blocked until an operator approves its definition.`;
  return { pin, event: { type: "mcp.tool_unapproved", summary, outcome: "info", data } };
}

function changed(pin: Pin): PinChange {
  const { server, tool, pinned, offered } = pin;
  const fields = changedFields(pinned?.body ?? {}, offered?.body ?? {});
  const data = { server, tool, fields, pinned: pinned?.digest ?? "", definition: offered?.digest ?? "" };
  const summary = `The definition of \`${tool}\` changed (${fields.join(", ")}); it is blocked until an operator approves it.`;
  return { pin, event: { type: "mcp.tool_changed", summary, outcome: "info", data } };
}

function restored(pin: Pin): PinChange {
  const { server, tool, pinned } = pin;
  const data = { server, tool, definition: pinned?.digest ?? "" };
  const summary = `The definition of \`${tool}\` is again what is pinned.`;
  return { pin, event: { type: "mcp.tool_restored", summary, outcome: "info", data } };
}

function approvedBy(pin: Pin, { by, via, reason }: ToolApproval, before: string | undefined): PinChange {
  const { server, tool, pinned } = pin;
  const data = {
    server,
    tool,
    definition: pinned?.digest ?? "",
    ...(before !== undefined && { before }),
    ...(reason !== undefined && { reason }),
  };
  const summary = `The definition of \`${tool}\` is approved.`;
  return { pin, event: { type: "operator.action.tool_approved", summary, outcome: "success", by, via, data } };
}

function refusalOf(tool: string, pin: Pin | undefined, definition: string): ToolApproved | undefined {
  if (pin === undefined) return unknown(tool);
  const wanted = pin.offered?.digest ?? pin.pinned?.digest ?? "";
  if (definition === wanted) return undefined;
  const message = `\`${tool}\` is now defined by \`${wanted}\`, not by \`${definition.slice(0, 64)}\`; look again with \`postern tools diff ${tool}\`.`;
  return { approved: false, why: "definition_differs", message };
}

function unknown(tool: string): ToolApproved {
  const message = `No server has a tool \`${tool.slice(0, 128)}\`; \`postern tools\` lists what there is.`;
  return { approved: false, why: "tool_unknown", message };
}
