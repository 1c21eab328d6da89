/**
 * Which definition of each upstream tool is trusted. It is pinned when it is first seen or, for a server that is
 * `pin: strict`, when an operator approves it. After that only an operator changes it.
 *
 * Invariant: a pin is durable and is written together with its event. A definition is approved by its digest, so an operator
 * cannot approve a definition that replaced the one he or she read.
 * Next: definition.ts (what is pinned), server-collection.ts (what that means for a tool), differences.ts (what changed).
 */
import {
  type Actor,
  type Clock,
  checkActorFields,
  defined,
  isJsonObject,
  type JsonObject,
  type NotedEvent,
  newTraceId,
} from "@postern/core";
import { cleanJson } from "../../results/clean.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import { LiveCollection } from "../../store/live-collection.ts";
import type { Store } from "../../store/store.ts";
import { type Definition, type Pin, pinFromJson, pinKind, pinToJson, type StoredDefinition } from "./definition.ts";
import { changedFields, type Difference, differences } from "./differences.ts";
import { KnownServers } from "./known-servers.ts";
import { type SuspiciousText, suspiciousTexts } from "./suspicious-texts.ts";

export interface PinsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly policy: { readonly version: string };
  /** A definition may hold a secret that the server was given. The digest is of the original; what is stored is masked. */
  readonly redactor: Redactor;
  readonly log: (problem: string) => void;
}

/** Why a tool is blocked, and what an operator would approve. */
export interface ToolChanges extends Pin {
  readonly state: "pinned" | "changed" | "new";
  /** From the pinned to the offered definition; for a new tool, the whole definition. */
  readonly differences: readonly Difference[];
  /** Texts of the newest definition that hide something or give orders to a model. */
  readonly warnings: readonly SuspiciousText[];
}

/** An approval by an authenticated operator. */
export interface ToolApproval extends Actor {
  /** The digest of the definition that the operator read. */
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

/** What an operator sees and does. */
export interface ToolPins {
  /** Returns undefined when no server ever had such a tool. */
  changes(tool: string): ToolChanges | undefined;
  /** The tools of one server, or of all, in the order of their names. */
  list(server?: string): readonly ToolChanges[];
  /** Resolves when the tool can be called. Approving the pinned definition again writes no record. */
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
      changedElsewhere: (pin, tool) => {
        if (pin !== undefined) void this.#followers.get(pin.server)?.(tool).catch(log);
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

  /** The follower is called after an approval, before `approve` resolves. Each server has one. */
  follow(server: string, follower: PinFollower): void {
    this.#followers.set(server, follower);
  }

  changes(tool: string): ToolChanges | undefined {
    const pin = this.get(tool);
    if (pin === undefined) return undefined;
    const { pinned, offered } = pin;
    const state = offered === undefined ? "pinned" : pinned === undefined ? "new" : "changed";
    return {
      ...pin,
      state,
      differences: offered === undefined ? [] : differences(pinned?.body, offered.body),
      warnings: suspiciousTexts((offered ?? pinned)?.body ?? {}),
    };
  }

  list(server?: string): readonly ToolChanges[] {
    return this.#pins.items
      .flatMap((pin) => (pin !== undefined && (server === undefined || pin.server === server) ? [pin.tool] : []))
      .sort()
      .flatMap((tool) => this.changes(tool) ?? []);
  }

  /** Whether a tool is trusted as it is first seen: only if nothing is stored for it. */
  trusts(tool: string, strict: boolean): boolean {
    return !strict && !this.#pins.has(tool);
  }

  /**
   * Records a definition that the server lists, if it is not the one that is stored. With `strict` a new tool waits for an
   * operator.
   *
   * @throws what the store throws; nothing is recorded then
   */
  async recordSeen({ server, tool }: Pick<Pin, "server" | "tool">, seen: Definition, strict: boolean): Promise<void> {
    await this.#change(tool, (pin) => {
      if (pin?.offered?.digest === seen.digest) return undefined;
      const { pinned } = pin ?? {};
      if (pinned?.digest === seen.digest) {
        const summary = `The definition of \`${tool}\` is again what is pinned.`;
        return pin?.offered && pinChange({ server, tool, pinned }, { type: "mcp.tool_restored", summary });
      }
      const stored: StoredDefinition = {
        body: this.#clean(seen.body),
        digest: seen.digest,
        at: this.#options.clock.now(),
      };
      if (pinned !== undefined) return changed({ server, tool, pinned, offered: stored });
      if (!this.trusts(tool, strict)) {
        const summary = `\`${tool}\` is new and blocked until an operator approves its definition.`;
        return pinChange({ server, tool, offered: stored }, { type: "mcp.tool_unapproved", summary });
      }
      const summary = `The definition of \`${tool}\` is pinned as it was first seen.`;
      return pinChange({ server, tool, pinned: stored }, { type: "mcp.tool_pinned", summary });
    });
  }

  async approve(tool: string, approval: ToolApproval): Promise<ToolApproved> {
    checkActorFields(approval, "request_invalid");
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
    const { clock, policy } = this.#options;
    return {
      moment: "noted",
      at: clock.now(),
      traceId: newTraceId(),
      tenant: "default",
      policyVersion: policy.version,
      ...event,
    };
  }
}

/** A pin as it becomes, with its event. */
function pinChange(pin: Pin, event: Omit<Event, "data" | "outcome"> & Partial<Event>): PinChange {
  const { server, tool, pinned, offered } = pin;
  const data = { server, tool, definition: (offered ?? pinned)?.digest ?? "", ...event.data };
  return { pin, event: { outcome: "info", ...event, data } };
}

function changed(pin: Pin): PinChange {
  const { tool, pinned, offered } = pin;
  const fields = changedFields(pinned?.body ?? {}, offered?.body ?? {});
  const summary = `The definition of \`${tool}\` changed (${fields.join(", ")}); it is blocked until an operator approves it.`;
  return pinChange(pin, { type: "mcp.tool_changed", summary, data: { fields, pinned: pinned?.digest ?? "" } });
}

function approvedBy(pin: Pin, { by, via, reason }: ToolApproval, before: string | undefined): PinChange {
  const summary = `The definition of \`${pin.tool}\` is approved.`;
  const data = defined({ before, reason });
  return pinChange(pin, { type: "operator.action.tool_approved", summary, outcome: "success", by, via, data });
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
