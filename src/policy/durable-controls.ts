import { type Actor, checkWho } from "../calls/actor.ts";
import type { Autonomy } from "../calls/call.ts";
import { checkMember } from "../calls/checked-members.ts";
import type { Clock } from "../calls/clock.ts";
import type { NotedEvent } from "../calls/event.ts";
import { RuntimeFault } from "../calls/fault.ts";
import { newTraceId } from "../calls/ids.ts";
import { deepFrozen } from "../calls/json.ts";
import { commitAndTake, type Store } from "../stores/store.ts";
import type { ControlChange, ControlState, Controls } from "./controls.ts";
import {
  bodyOf,
  changeFrom,
  checkedAutonomy,
  historyId,
  readControls,
  type SavedControls,
} from "./controls-document.ts";

export interface ControlsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Told in the event of each change (D25). */
  readonly policyVersion: string;
  /** From the configuration: holds until an operator sets a level, whose word then outlives restarts. */
  readonly autonomy?: Autonomy;
  /** Told when the configured level is not the one that holds. */
  readonly log?: (message: string) => void;
}

/**
 * The switches as one versioned document; the change that made it stands in it, so that state, history and event
 * become true in one write. Before it is overwritten, its change moves to a document of its own.
 *
 * @throws RuntimeFault `controls_invalid` for a configured level that is none, `controls_unreadable` for a document that is not ours
 */
export async function openControls(options: ControlsOptions): Promise<Controls> {
  const { store, autonomy, log } = options;
  if (autonomy !== undefined) checkedAutonomy(autonomy);
  const saved = await readControls(store);
  if (saved.state.autonomy !== undefined && autonomy !== undefined && saved.state.autonomy !== autonomy) {
    log?.(`The configuration asks for autonomy ${autonomy}; an operator set ${saved.state.autonomy}, which holds.`);
  }
  return new DurableControls(options, saved);
}

type Change = Pick<ControlChange, "change" | "value"> & {
  readonly event: string;
  readonly summary: string;
};

interface Who {
  readonly by: Actor;
  readonly reason: string | undefined;
}

/** Undefined: it is so already, and nothing is written. */
type Next = (state: ControlState) => ControlState | undefined;

/** Other processes may win a few times in a row; more than this means that something else is wrong. */
const mostTries = 20;

class DurableControls implements Controls {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #policyVersion: string;
  readonly #configured: Autonomy | undefined;
  #state: ControlState;
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ store, clock, policyVersion, autonomy }: ControlsOptions, saved: SavedControls) {
    this.#store = store;
    this.#clock = clock;
    this.#policyVersion = policyVersion;
    this.#configured = autonomy;
    this.#state = this.#effective(saved.state);
  }

  get state(): ControlState {
    return this.#state;
  }

  pause(by: Actor, reason?: string): Promise<ControlState> {
    const change: Change = { change: "pause", event: "pause", summary: "all tool calls paused" };
    return this.#change({ by, reason }, change, (state) => (state.paused ? undefined : { ...state, paused: true }));
  }

  resume(by: Actor, reason?: string): Promise<ControlState> {
    const change: Change = { change: "resume", event: "resume", summary: "tool calls resumed" };
    return this.#change({ by, reason }, change, (state) => (state.paused ? { ...state, paused: false } : undefined));
  }

  setAutonomy(level: Autonomy, by: Actor, reason?: string): Promise<ControlState> {
    const change: Change = {
      change: "autonomy",
      value: level,
      event: "autonomy",
      summary: `autonomy level set to ${level}`,
    };
    return this.#change({ by, reason }, change, (state) =>
      state.autonomy === checkedAutonomy(level) ? undefined : { ...state, autonomy: level },
    );
  }

  // biome-ignore lint/complexity/useMaxParams: as the public face has it
  setTool(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState> {
    return this.#switch("tool", "offTools", { name, on, by, reason });
  }

  // biome-ignore lint/complexity/useMaxParams: as the public face has it
  setServer(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState> {
    return this.#switch("server", "offServers", { name, on, by, reason });
  }

  async history(): Promise<readonly ControlChange[]> {
    const { version, change } = await readControls(this.#store);
    const changes: ControlChange[] = change === undefined ? [] : [change];
    for (const id of (await this.#store.documents.list("control-change", "")).toReversed()) {
      if (id >= historyId(version)) continue; // that one is the change in the state itself
      const document = await this.#store.documents.get("control-change", id);
      if (document !== undefined) changes.push(changeFrom(document.body));
    }
    return changes;
  }

  #switch(
    kind: "tool" | "server",
    list: "offTools" | "offServers",
    { name, on, by, reason }: Who & { readonly name: string; readonly on: boolean },
  ): Promise<ControlState> {
    const change: Change = {
      change: `${kind}_${on ? "on" : "off"}`,
      value: name,
      event: kind,
      summary: `${kind} ${name} switched ${on ? "on" : "off"}`,
    };
    return this.#change({ by, reason }, change, (state) => {
      if (typeof name !== "string" || name === "")
        throw new RuntimeFault("controls_invalid", `A ${kind} to switch needs a name.`);
      checkMember("on", on, "true or false", "controls_invalid");
      if (on !== state[list].includes(name)) return undefined;
      const others = state[list].filter((off) => off !== name);
      return { ...state, [list]: on ? others : [...others, name].sort() };
    });
  }

  /** One change at a time here; against other processes the document's version decides, and the loser looks again. */
  #change(who: Who, change: Change, next: Next): Promise<ControlState> {
    const made = this.#turn.then(() => this.#commit(who, change, next));
    this.#turn = made.catch(() => {}); // its caller has the rejection; the next change does not depend on it
    return made;
  }

  async #commit({ by, reason }: Who, change: Change, next: Next): Promise<ControlState> {
    checkWho(by, "controls_invalid");
    if (reason !== undefined) checkMember("reason", reason, "a text", "controls_invalid");
    for (let tries = 0; tries < mostTries; tries += 1) {
      const saved = await readControls(this.#store);
      const changed = next(saved.state);
      if (changed === undefined) return this.#adopt(saved.state);
      await this.#keepHistory(saved);
      const at = this.#clock.now();
      const entry: ControlChange = {
        ...{ at, by: by.by, via: by.via, change: change.change },
        ...(change.value !== undefined && { value: change.value }),
        ...(reason !== undefined && { reason }),
      };
      const state = pausedAs(changed, entry);
      const body = bodyOf(state, entry);
      const event: NotedEvent = { ...eventOf(entry, change), policyVersion: this.#policyVersion };
      const write = {
        write: "document",
        kind: "controls",
        id: "state",
        body,
        expectedVersion: saved.version,
        event,
      } as const;
      const committed = await commitAndTake(this.#store, write, "synced", () => void this.#adopt(state));
      if (committed.won) return this.#state;
    }
    throw new RuntimeFault(
      "controls_contended",
      "The controls are being changed by somebody else all the time; try again.",
    );
  }

  /** The change may be kept already, by whoever lost the race for the state: then this write loses, and nothing is missing. */
  async #keepHistory({ version, change }: SavedControls): Promise<void> {
    if (change === undefined) return;
    await this.#store.commit(
      {
        write: "document",
        kind: "control-change",
        id: historyId(version),
        body: { ...change },
        expectedVersion: 0,
      },
      "committed",
    );
  }

  #adopt(state: ControlState): ControlState {
    this.#state = this.#effective(state);
    return this.#state;
  }

  #effective(state: ControlState): ControlState {
    return deepFrozen({ ...structuredClone(state), autonomy: state.autonomy ?? this.#configured });
  }
}

/** Who is refused asks why, and whoever reads it asks whom to ask. */
function pausedAs({ pausedBy, ...state }: ControlState, entry: ControlChange): ControlState {
  if (!state.paused) return state;
  const by = entry.change === "pause" ? entry : pausedBy;
  return by === undefined ? state : { ...state, pausedBy: by };
}

function eventOf(entry: ControlChange, { event, summary }: Change): Omit<NotedEvent, "policyVersion"> {
  const { at, by, via, change, value, reason } = entry;
  return {
    moment: "noted",
    at,
    type: `operator.action.${event}`,
    summary,
    traceId: newTraceId(),
    tenant: "default",
    by,
    ...(via !== undefined && { via }),
    outcome: "success",
    data: {
      change,
      ...(value !== undefined && { value }),
      ...(reason !== undefined && { reason }),
    },
  };
}
