import { type Actor, checkWho } from "../core/actor.ts";
import type { Autonomy } from "../core/call.ts";
import { checkMember } from "../core/checked-members.ts";
import type { Clock } from "../core/clock.ts";
import type { NotedEvent } from "../core/event.ts";
import { RuntimeFault } from "../core/fault.ts";
import { newTraceId } from "../core/ids.ts";
import { deepFrozen } from "../core/json.ts";
import { Collection } from "../store/collection.ts";
import { LiveCollection } from "../store/live-collection.ts";
import type { Store } from "../store/store.ts";
import type { ControlChange, ControlState, Controls } from "./controls.ts";
import {
  changeFrom,
  checkedAutonomy,
  controlsFrom,
  controlsToJson,
  historyId,
  noControls,
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

const stateId = "state";

/**
 * The switches as one versioned document; the change that made it stands in it, so that state, history and event
 * become true in one write. Before it is overwritten, its change moves to a document of its own.
 *
 * @throws RuntimeFault `controls_invalid` for a configured level that is none, `controls_unreadable` for a document that is not ours
 */
export async function openControls(options: ControlsOptions): Promise<Controls> {
  const { store, autonomy, log } = options;
  if (autonomy !== undefined) checkedAutonomy(autonomy);
  const saved = new LiveCollection({ store, kind: "controls", read: controlsFrom, write: controlsToJson });
  await saved.readAll();
  const level = saved.at(stateId)?.state.autonomy;
  if (level !== undefined && autonomy !== undefined && level !== autonomy)
    log?.(`The configuration asks for autonomy ${autonomy}; an operator set ${level}, which holds.`);
  return new DurableControls(options, saved);
}

type ChangeDescription = Pick<ControlChange, "change" | "value"> & {
  readonly event: string;
  readonly summary: string;
};

interface ControlActor {
  readonly by: Actor;
  readonly reason: string | undefined;
}

/** Returns undefined if nothing changes. */
type NextState = (state: ControlState) => ControlState | undefined;

class DurableControls implements Controls {
  readonly #options: ControlsOptions;
  readonly #saved: LiveCollection<SavedControls>;
  readonly #history: Collection<ControlChange>;
  /** What holds, with the configured level, for what was saved. */
  #effective: { readonly saved: ControlState; readonly state: ControlState } | undefined;

  constructor(options: ControlsOptions, saved: LiveCollection<SavedControls>) {
    this.#options = options;
    this.#saved = saved;
    this.#history = new Collection({ store: options.store, kind: "control-change", read: changeFrom });
  }

  get state(): ControlState {
    const { state: saved } = this.#saved.at(stateId) ?? noControls;
    if (this.#effective?.saved === saved) return this.#effective.state;
    const state = deepFrozen({ ...structuredClone(saved), autonomy: saved.autonomy ?? this.#options.autonomy });
    this.#effective = { saved, state };
    return state;
  }

  pause(by: Actor, reason?: string): Promise<ControlState> {
    const change: ChangeDescription = { change: "pause", event: "pause", summary: "all tool calls paused" };
    return this.#change({ by, reason }, change, (state) => (state.paused ? undefined : { ...state, paused: true }));
  }

  resume(by: Actor, reason?: string): Promise<ControlState> {
    const change: ChangeDescription = { change: "resume", event: "resume", summary: "tool calls resumed" };
    return this.#change({ by, reason }, change, (state) => (state.paused ? { ...state, paused: false } : undefined));
  }

  setAutonomy(level: Autonomy, by: Actor, reason?: string): Promise<ControlState> {
    const change: ChangeDescription = {
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
    const { version, change } = (await this.#saved.get(stateId)) ?? noControls;
    const changes: (ControlChange | undefined)[] = [change];
    for (const id of (await this.#history.ids()).toReversed())
      if (id < historyId(version)) changes.push(await this.#history.get(id)); // the newest is in the state itself
    return changes.filter((one) => one !== undefined);
  }

  #switch(
    kind: "tool" | "server",
    list: "offTools" | "offServers",
    { name, on, by, reason }: ControlActor & { readonly name: string; readonly on: boolean },
  ): Promise<ControlState> {
    const change: ChangeDescription = {
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

  async #change({ by, reason }: ControlActor, change: ChangeDescription, next: NextState): Promise<ControlState> {
    checkWho(by, "controls_invalid");
    if (reason !== undefined) checkMember("reason", reason, "a text", "controls_invalid");
    await this.#saved.change(stateId, async (saved = noControls) => {
      const changed = next(saved.state);
      if (changed === undefined) return undefined;
      await this.#keepHistory(saved);
      const { clock, policyVersion } = this.#options;
      const entry: ControlChange = {
        ...{ at: clock.now(), by: by.by, via: by.via, change: change.change },
        ...(change.value !== undefined && { value: change.value }),
        ...(reason !== undefined && { reason }),
      };
      const item = { version: saved.version + 1, state: pausedAs(changed, entry), change: entry };
      return { item, event: { ...eventOf(entry, change), policyVersion } };
    });
    return this.state;
  }

  /** The change may be kept already, by a writer who lost the race for the state. */
  async #keepHistory({ version, change }: SavedControls): Promise<void> {
    if (change === undefined) return;
    await this.#history.change(historyId(version), (kept) => (kept === undefined ? { item: change } : undefined));
  }
}

/** Who is refused asks why, and whoever reads it asks whom to ask. */
function pausedAs({ pausedBy, ...state }: ControlState, entry: ControlChange): ControlState {
  if (!state.paused) return state;
  const by = entry.change === "pause" ? entry : pausedBy;
  return by === undefined ? state : { ...state, pausedBy: by };
}

function eventOf(entry: ControlChange, { event, summary }: ChangeDescription): Omit<NotedEvent, "policyVersion"> {
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
