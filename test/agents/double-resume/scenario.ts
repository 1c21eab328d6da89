import type { Runtime } from "../../../packages/postern/src/runtime/api/api.ts";

export type Scenario = "resumed twice" | "stored arguments edited" | "approval forged";

export interface Stage {
  /** The tool's effect. */
  readonly ran: (input: unknown) => void;
  /** Undefined: the library runs alone. */
  readonly runtime: Runtime | undefined;
  /** A person approves in Postern, where there is one. */
  readonly approve: () => Promise<void>;
}

export interface Library {
  readonly name: string;
  /** False when the library has no such scenario. */
  run(scenario: Scenario, stage: Stage): Promise<boolean>;
}

export const statement = { risk: "high", effects: "write", idempotent: false } as const;
