import {
  type Actor,
  type Autonomy,
  autonomies,
  type Clock,
  checkActorFields,
  checkMember,
  checkMembers,
  deepFrozen,
  defined,
  newTraceId,
  ownTenant,
  RuntimeFault,
  shown,
} from "@postern/core";
import { isElsewhere, principalNamePattern, runIdPattern } from "../call/authority.ts";
import { Collection } from "../store/collection.ts";
import { LiveCollection } from "../store/live-collection.ts";
import type { Store } from "../store/store.ts";
import {
  type ControlChange,
  type ControlState,
  type Controls,
  changeFrom,
  controlsFrom,
  controlsToJson,
  noControls,
  type Pausable,
  type SavedControls,
  type SinglePause,
} from "./controls.ts";
import { isAutonomy } from "./risk/matrix.ts";

export interface ControlsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Part of the event of each change. */
  readonly policy: { readonly version: string };
  /** The level of the configuration now. It holds until an operator sets a level, which then outlives restarts. */
  readonly autonomy?: () => Autonomy | undefined;
  /** Receives a message when the configured level is not the one that holds. */
  readonly log?: (message: string) => void;
  /** Another process of the store used a switch. */
  readonly changedElsewhere?: () => void;
}

const stateId = "state";

/** Of agents and of runs, in one tenant. */
const mostPauses = 200;

/**
 * Keeps the switches in one versioned document. It holds the change that made it, so state, history and event become true
 * in one write. Before the document is overwritten, its change moves to a document of its own.
 *
 * @throws RuntimeFault `request_invalid` for an unknown configured level, `internal` for an unknown document
 */
export async function openControls(options: ControlsOptions): Promise<Controls> {
  const { store, log, changedElsewhere = () => {} } = options;
  const autonomy = options.autonomy?.();
  if (autonomy !== undefined) checkAutonomy(autonomy);
  const saved = new LiveCollection({
    ...{ store, kind: "controls", read: controlsFrom, write: controlsToJson, changedElsewhere },
  });
  await saved.readAll();
  const level = saved.at(stateId)?.state.autonomy;
  if (level !== undefined && autonomy !== undefined && level !== autonomy)
    log?.(`The configuration asks for autonomy ${autonomy}; an operator set ${level}, which holds.`);
  return new DurableControls(options, saved);
}

interface ControlRequest {
  readonly by: Actor;
  readonly reason: string | undefined;
  readonly change: string;
  readonly value?: string;
  readonly tenant?: string;
  /** For people. */
  readonly summary: string;
}

class DurableControls implements Controls {
  readonly #options: ControlsOptions;
  readonly #saved: LiveCollection<SavedControls>;
  readonly #history: Collection<ControlChange>;
  /** The saved state with the configured level. */
  #effective:
    | { readonly saved: ControlState; readonly configured: Autonomy | undefined; readonly state: ControlState }
    | undefined;

  constructor(options: ControlsOptions, saved: LiveCollection<SavedControls>) {
    this.#options = options;
    this.#saved = saved;
    this.#history = new Collection({ store: options.store, kind: "control-change", read: changeFrom });
  }

  get state(): ControlState {
    const { state: saved } = this.#saved.at(stateId) ?? noControls;
    const configured = this.#options.autonomy?.();
    if (this.#effective?.saved === saved && this.#effective.configured === configured) return this.#effective.state;
    const state = deepFrozen({ ...structuredClone(saved), autonomy: saved.autonomy ?? configured });
    this.#effective = { saved, configured, state };
    return state;
  }

  pause(by: Actor, reason?: string): Promise<ControlState> {
    return this.#change({ by, reason, change: "pause", summary: "all tool calls paused" }, (state) =>
      state.paused && !isNew(reason, state.pausedBy) ? undefined : { ...state, paused: true },
    );
  }

  resume(by: Actor, reason?: string): Promise<ControlState> {
    return this.#change({ by, reason, change: "resume", summary: "tool calls resumed" }, (state) =>
      state.paused ? { ...state, paused: false } : undefined,
    );
  }

  async pauseOne(what: Pausable, by: Actor, reason?: string): Promise<ControlState> {
    const one = checkedPausable(what, by);
    return this.#change({ by, reason, ...namesOf(one, "pause", "paused") }, (state) => {
      const { pauses = [] } = state;
      const before = pauses.find((other) => isSame(one, other));
      if (before !== undefined)
        return isNew(reason, before) ? this.#with(without(state, one), one, by, reason) : undefined;
      const alike = pauses.filter(({ kind, tenant }) => kind === one.kind && tenant === one.tenant);
      if (alike.length >= mostPauses) throw tooManyPauses(one.kind);
      return this.#with(state, one, by, reason);
    });
  }

  async resumeOne(what: Pausable, by: Actor, reason?: string): Promise<ControlState> {
    const one = checkedPausable(what, by);
    return this.#change({ by, reason, ...namesOf(one, "resume", "resumed") }, (state) =>
      state.pauses?.some((other) => isSame(one, other)) === true ? without(state, one) : undefined,
    );
  }

  setAutonomy(level: Autonomy, by: Actor, reason?: string): Promise<ControlState> {
    const summary = `autonomy level set to ${level}`;
    return this.#change({ by, reason, change: "autonomy", value: level, summary }, (state) => {
      checkAutonomy(level);
      return state.autonomy === level ? undefined : { ...state, autonomy: level };
    });
  }

  setTool(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState> {
    return this.#switch("tool", { name, on, by, reason });
  }

  setServer(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState> {
    return this.#switch("server", { name, on, by, reason });
  }

  async history(): Promise<readonly ControlChange[]> {
    const { version, change } = (await this.#saved.get(stateId)) ?? noControls;
    const changes: (ControlChange | undefined)[] = [change];
    for (const id of (await this.#history.ids()).toReversed())
      if (id < historyId(version)) changes.push(await this.#history.get(id)); // the newest one is in the state itself
    return changes.filter((one) => one !== undefined);
  }

  #switch(
    kind: "tool" | "server",
    { name, on, by, reason }: Pick<ControlRequest, "by" | "reason"> & { readonly name: string; readonly on: boolean },
  ): Promise<ControlState> {
    const to = on ? "on" : "off";
    const list = kind === "tool" ? "offTools" : "offServers";
    const request = { by, reason, change: `${kind}_${to}`, value: name, summary: `${kind} ${name} switched ${to}` };
    return this.#change(request, (state) => {
      if (typeof name !== "string" || name === "")
        throw new RuntimeFault("request_invalid", `A ${kind} to switch needs a name.`);
      checkMember("on", on, "true or false", "request_invalid");
      const one = { kind, name, tenant: ownTenant };
      const before = state.pauses?.find((other) => isSame(one, other));
      if (on !== state[list].includes(name) && (on || !isNew(reason, before))) return undefined;
      const others = state[list].filter((off) => off !== name);
      if (on) return { ...without(state, one), [list]: others };
      return { ...this.#with(without(state, one), one, by, reason), [list]: [...others, name].sort() };
    });
  }

  #with(state: ControlState, one: StoppedOne, { by, via }: Actor, reason: string | undefined): ControlState {
    const added: SinglePause = { ...one, at: this.#options.clock.now(), by, via, ...defined({ reason }) };
    return { ...state, pauses: [...(state.pauses ?? []), added] };
  }

  /** @param next returns undefined if nothing changes */
  async #change(
    { by: actor, reason, change, value, tenant, summary }: ControlRequest,
    next: (state: ControlState) => ControlState | undefined,
  ): Promise<ControlState> {
    checkActorFields(actor, "request_invalid");
    if (reason !== undefined) checkMember("reason", reason, "a text", "request_invalid");
    const { clock, policy } = this.#options;
    const { by, via } = actor;
    await this.#saved.change(stateId, async (saved = noControls) => {
      const state = next(saved.state);
      if (state === undefined) return undefined;
      await this.#keepHistory(saved);
      const at = clock.now();
      const data = { change, ...defined({ value, reason }) };
      const entry: ControlChange = { at, by, via, ...data, ...defined({ tenant }) };
      return {
        item: { version: saved.version + 1, state: withPausedBy(state, entry), change: entry },
        event: {
          ...{
            moment: "noted",
            at,
            by,
            via,
            summary,
            policyVersion: policy.version,
            data,
            outcome: "success",
            tenant: tenant ?? ownTenant,
          },
          type: `operator.action.${change.split("_")[0]}`,
          traceId: newTraceId(),
        },
      };
    });
    return this.state;
  }

  /** A writer that lost the race for the state may have kept the change already. */
  async #keepHistory({ version, change }: SavedControls): Promise<void> {
    if (change === undefined) return;
    await this.#history.change(historyId(version), (kept) => (kept === undefined ? { item: change } : undefined));
  }
}

/** Ids sort by their characters, so the digits are padded to sort by time. */
function historyId(version: number): string {
  return String(version).padStart(12, "0");
}

/** A caller that is refused sees who paused, and why. */
function withPausedBy({ pausedBy, ...state }: ControlState, entry: ControlChange): ControlState {
  const by = entry.change === "pause" ? entry : pausedBy;
  return state.paused && by !== undefined ? { ...state, pausedBy: by } : state;
}

/** @throws RuntimeFault `request_invalid` */
function checkedPausable(what: Pausable, by: Actor): Required<Pausable> {
  const members = { kind: ["agent", "run"], name: "a text", tenant: "a text" } as const;
  checkMembers(what, { code: "request_invalid", what: "What is paused", members, needed: ["kind", "name"] });
  checkActorFields(by, "request_invalid");
  const { kind, name, tenant: whose = by.tenant ?? ownTenant } = what;
  if (!(kind === "agent" ? principalNamePattern : runIdPattern).test(name))
    throw new RuntimeFault(
      "request_invalid",
      kind === "agent"
        ? `The name of the agent is ${shown(name)}; it must be 1 to 200 printable characters.`
        : `The id of the run is ${shown(name)}; it must be 1 to 64 of A-Z a-z 0-9 _ -.`,
    );
  if (isElsewhere({ tenant: whose }, by.tenant))
    throw new RuntimeFault(
      "request_invalid",
      `\`${by.by}\` belongs to the tenant \`${by.tenant}\` and cannot pause or resume in another one.`,
    );
  return { kind, name, tenant: whose };
}

type StoppedOne = Pick<SinglePause, "kind" | "name" | "tenant">;

function isSame(one: StoppedOne, { kind, name, tenant }: StoppedOne): boolean {
  return one.kind === kind && one.name === name && one.tenant === tenant;
}

/** Without a reason, the one that was given before stays. */
function isNew(reason: string | undefined, before: Pick<SinglePause, "reason"> | undefined): boolean {
  return reason !== undefined && reason !== before?.reason;
}

function without({ pauses = [], ...state }: ControlState, one: StoppedOne): ControlState {
  const others = pauses.filter((other) => !isSame(one, other));
  return others.length === 0 ? state : { ...state, pauses: others };
}

function namesOf({ kind, name, tenant }: StoppedOne, verb: string, done: string) {
  return { change: `${verb}_${kind}`, value: name, tenant, summary: `${kind} ${name} ${done}` };
}

function tooManyPauses(kind: Pausable["kind"]): RuntimeFault {
  const instead =
    kind === "run" ? "Resume runs that have ended, or pause their agent." : "Resume some, or pause all calls.";
  return new RuntimeFault("request_invalid", `${mostPauses} ${kind}s are paused already. ${instead}`);
}

function checkAutonomy(level: unknown): void {
  if (isAutonomy(level)) return;
  const message = `\`${String(level)}\` is not an autonomy level; the levels are ${autonomies.join(", ")}.`;
  throw new RuntimeFault("request_invalid", message);
}
