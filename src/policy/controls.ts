import type { Actor } from "../core/actor.ts";
import type { Autonomy } from "../core/call.ts";

/** The operator's switches (SPEC 18, D30): durable, audited, read by the gates on every call. */
export interface ControlState {
  readonly paused: boolean;
  /** The change that paused, while it holds. */
  readonly pausedBy?: ControlChange | undefined;
  /** The level of new sessions, and a ceiling for running ones (D24). None: thresholds decide. */
  readonly autonomy: Autonomy | undefined;
  /** Tools and servers that are switched off. */
  readonly offTools: readonly string[];
  readonly offServers: readonly string[];
}

export interface ControlChange {
  readonly at: number;
  readonly by: string;
  /** By which credential; of changes from before that was kept, nobody knows. */
  readonly via?: string;
  /** `pause`, `resume`, `autonomy`, `tool_on`, `tool_off`, `server_on`, `server_off`. */
  readonly change: string;
  readonly value?: string;
  readonly reason?: string;
}

export interface Controls {
  /** As of the last committed change; reading costs nothing. */
  readonly state: ControlState;
  /** Who did it is the authenticated operator, never a field of a request. */
  pause(by: Actor, reason?: string): Promise<ControlState>;
  resume(by: Actor, reason?: string): Promise<ControlState>;
  setAutonomy(level: Autonomy, by: Actor, reason?: string): Promise<ControlState>;
  setTool(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState>;
  setServer(name: string, on: boolean, by: Actor, reason?: string): Promise<ControlState>;
  /** New to old. */
  history(): Promise<readonly ControlChange[]>;
}
