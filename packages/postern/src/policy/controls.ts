/** The operator's switches: durable, audited, read by the gates on every call. */

import { type Actor, type Autonomy, autonomies, type Json, RuntimeFault } from "@postern/core";
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
    /** `pause`, `resume`, `autonomy`, `tool_on`, `tool_off`, `server_on`, `server_off`. */
    change: text,
    value: text.exactOptional(),
    reason: text.exactOptional(),
  });
  const names = zod.array(text).readonly();
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
  });
  return { change, state, saved: zod.object({ state, change }) };
});

type ControlSchemas = ReturnType<typeof documents>;
export type ControlChange = Readonly<z.output<ControlSchemas["change"]>>;
export type ControlState = Readonly<z.output<ControlSchemas["state"]>>;

export interface Controls {
  /** As of the last committed change. */
  readonly state: ControlState;
  /** `by` is the authenticated operator, never a field of a request. */
  pause(by: Actor, reason?: string): Promise<ControlState>;
  resume(by: Actor, reason?: string): Promise<ControlState>;
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
