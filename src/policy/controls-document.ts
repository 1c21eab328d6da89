import type { Autonomy } from "../core/call.ts";
import { RuntimeFault } from "../core/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { autonomies } from "../core/risk.ts";
import type { ControlChange, ControlState } from "./controls.ts";
import { isAutonomy } from "./risk/matrix.ts";

/** The switches as they are kept: the state, and the change that made it. */
export interface SavedControls {
  /** Of the document that has them. */
  readonly version: number;
  /** `autonomy` only when an operator set it. */
  readonly state: ControlState;
  readonly change: ControlChange | undefined;
}

export const noControls: SavedControls = Object.freeze({
  version: 0,
  state: { paused: false, autonomy: undefined, offTools: [], offServers: [] },
  change: undefined,
});

/** Versions in the order of their characters, so that they are listed in the order of time. */
export function historyId(version: number): string {
  return String(version).padStart(12, "0");
}

export function controlsToJson({ state, change }: SavedControls): JsonObject {
  const { paused, pausedBy, autonomy, offTools, offServers } = state;
  return {
    state: {
      paused,
      ...(pausedBy !== undefined && { pausedBy: { ...pausedBy } }),
      ...{ autonomy: autonomy ?? null, offTools, offServers },
    },
    change: { ...change },
  };
}

/** @throws RuntimeFault `controls_unreadable` */
export function controlsFrom(body: Json, _id: string, version: number): SavedControls {
  if (!isJsonObject(body) || !isJsonObject(body["state"])) throw unreadable("state");
  const { paused, pausedBy, autonomy, offTools, offServers } = body["state"];
  if (typeof paused !== "boolean" || (autonomy !== null && !isAutonomy(autonomy))) throw unreadable("state");
  const state = {
    paused,
    ...(pausedBy !== undefined && { pausedBy: changeFrom(pausedBy) }),
    autonomy: autonomy ?? undefined,
    offTools: namesFrom(offTools),
    offServers: namesFrom(offServers),
  };
  return { version, state, change: changeFrom(body["change"]) };
}

function namesFrom(list: Json | undefined): readonly string[] {
  if (!Array.isArray(list)) throw unreadable("state");
  return list.map((name: Json) => {
    if (typeof name !== "string") throw unreadable("state");
    return name;
  });
}

export function changeFrom(body: Json | undefined): ControlChange {
  if (!isJsonObject(body)) throw unreadable("change");
  const { at, by, via, change, value, reason } = body;
  if (typeof at !== "number" || typeof by !== "string" || typeof change !== "string") throw unreadable("change");
  return {
    ...{ at, by, change },
    ...(typeof via === "string" && { via }),
    ...(typeof value === "string" && { value }),
    ...(typeof reason === "string" && { reason }),
  };
}

/** Guessing what an operator switched off would be worse than not starting. */
function unreadable(what: string): RuntimeFault {
  return new RuntimeFault(
    "controls_unreadable",
    `The ${what} of the controls in the store is not what Postern writes.`,
  );
}

/** @throws RuntimeFault `controls_invalid` */
export function checkedAutonomy(level: unknown): Autonomy {
  if (isAutonomy(level)) return level;
  throw new RuntimeFault(
    "controls_invalid",
    `\`${String(level)}\` is no autonomy level; the levels are ${autonomies.join(", ")}.`,
  );
}
