/** The operator's switches: durable, audited, read by the gates on every call. */

import { type Actor, type Authority, type Autonomy, autonomies, type Json, RuntimeFault } from "@postern/core";
import type { z } from "zod";
import { lazySchema } from "../checks/zod.ts";

/** The documents in the store: the state with the change that made it, and each earlier change. */
const documents = lazySchema((zod) => {
  const text = zod.string();
  const change = zod.object({
    /** Wall clock, milliseconds. */
    at: zod.number(),
    by: text,
    /** The credential. Old changes have none. */
    via: text.exactOptional(),
    /** `pause`, `resume`, `autonomy`, `tool_on`, `tool_off`, `server_on`, `server_off`, `pause_agent`, `resume_run`, … */
    change: text,
    value: text.exactOptional(),
    /** Whose agent or run it is; other changes belong to the installation. */
    tenant: text.exactOptional(),
    reason: text.exactOptional(),
  });
  const names = zod.array(text).readonly();
  const pause = zod.object({
    /** Tools and servers are in `offTools` and `offServers` too, which the gates read. */
    kind: zod.enum(["agent", "run", "tool", "server"]),
    /** Its name; of a run its id. */
    name: text,
    tenant: text,
    at: zod.number(),
    by: text,
    via: text,
    reason: text.exactOptional(),
  });
  const state = zod.object({
    paused: zod.boolean(),
    /** The change that paused, while the pause lasts. */
    pausedBy: change.readonly().optional(),
    /** The level of new sessions and the ceiling of running ones. Undefined: thresholds decide. */
    autonomy: zod
      .enum(autonomies)
      .nullable()
      .transform((level) => level ?? undefined),
    /** Tools and servers that are switched off. */
    offTools: names,
    offServers: names,
    /** What is stopped singly, in the order in which it was. An older Postern wrote none. */
    pauses: zod.array(pause.readonly()).readonly().exactOptional(),
  });
  return { change, pause, state, saved: zod.object({ state, change }) };
});

type ControlSchemas = ReturnType<typeof documents>;
export type ControlChange = Readonly<z.output<ControlSchemas["change"]>>;
export type ControlState = Readonly<z.output<ControlSchemas["state"]>>;
/** One agent, run, tool or server whose calls are refused: by whom and why. It ends only when a person resumes it. */
export type SinglePause = Readonly<z.output<ControlSchemas["pause"]>>;

/** One agent or one run. Without a tenant, it is of the actor's tenant, or of `default`. */
export interface Pausable {
  readonly kind: "agent" | "run";
  /** Of a run its id. */
  readonly name: string;
  readonly tenant?: string;
}

export interface Controls {
  /** As of the last committed change. */
  readonly state: ControlState;
  /** `by` is the authenticated operator, never a field of a request. */
  pause(by: Actor, reason?: string): Promise<ControlState>;
  /** Ends the pause of all calls. Agents and runs that are paused singly stay paused. */
  resume(by: Actor, reason?: string): Promise<ControlState>;
  /**
   * Refuses the calls of one agent or one run of a tenant. At most 200 agents and 200 runs of a tenant are paused.
   *
   * @throws RuntimeFault `request_invalid`
   */
  pauseOne(what: Pausable, by: Actor, reason?: string): Promise<ControlState>;
  resumeOne(what: Pausable, by: Actor, reason?: string): Promise<ControlState>;
  setAutonomy(level: Autonomy, by: Actor, reason?: string): Promise<ControlState>;
  setTool(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState>;
  setServer(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState>;
  /** Newest first. */
  history(): Promise<readonly ControlChange[]>;
}

export interface SavedControls {
  /** The version of the document. */
  readonly version: number;
  /** `autonomy` only if an operator set it. */
  readonly state: ControlState;
  readonly change: ControlChange | undefined;
}

export const noControls: SavedControls = Object.freeze({
  version: 0,
  state: { paused: false, autonomy: undefined, offTools: [], offServers: [] },
  change: undefined,
});

/** The pause of a caller's agent or run. */
export function pauseOf(
  { pauses }: ControlState,
  { principal: { tenant, agent }, runId }: Pick<Authority, "principal" | "runId">,
): SinglePause | undefined {
  return pauses?.find((one) => {
    if (one.tenant !== tenant) return false;
    return one.kind === "agent" ? one.name === agent : one.kind === "run" && one.name === runId;
  });
}

/** For the caller, who may know the person: both are of one tenant. */
export function pauseText({ kind, name, by, reason = "" }: SinglePause): string {
  const why = reason.trim() === "" ? "" : ` (${reason})`;
  return `${by} has paused the ${kind} \`${name}\`${why}; the tool was not run. Try again later: an operator resumes it in the console, or with \`postern controls resume --${kind} NAME\`.`;
}

export function controlsToJson({ state, change }: SavedControls): Json {
  return JSON.parse(JSON.stringify({ state: { ...state, autonomy: state.autonomy ?? null }, change }));
}

/** @throws RuntimeFault `internal` */
export function controlsFrom(body: Json, _id: string, version: number): SavedControls {
  return { version, ...readable(documents().saved, body) };
}

/** @throws RuntimeFault `internal` */
export function changeFrom(body: Json): ControlChange {
  return readable(documents().change, body);
}

/** If a document cannot be read, Postern does not start: it must not guess what an operator switched off. */
function readable<Schema extends z.ZodType>(schema: Schema, body: Json): z.output<Schema> {
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const [{ path, message } = { path: [], message: "" }] = error.issues;
  throw new RuntimeFault(
    "internal",
    `The controls in the store are not what Postern writes: \`${path.join(".")}\`: ${message}.`,
  );
}
