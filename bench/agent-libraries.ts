/** The parts that import the agent libraries, which are not installed with the project: loaded when they are measured. */
import type { Runtime } from "../packages/postern/src/index.ts";
import type { AnyTool } from "../packages/postern/src/tools/kinds.ts";

export type Call = (i: number) => unknown;

export interface AdapterRow {
  readonly id: string;
  /** What is called of the library. */
  readonly what: string;
  readonly open: (runtime: Runtime) => AdapterCalls;
}

export interface AdapterCalls {
  /** The library's own call of the same tool. Undefined: no library stands between the caller and Postern. */
  readonly alone?: Call;
  readonly withPostern: Call;
  /** `invoke` with the same context: what Postern takes without the adapter. */
  readonly bare: Call;
}

/** One turn of 64 calls. */
export interface TurnScene {
  readonly alone: () => Promise<void>;
  readonly withPostern: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Tokens that a model reads before it has called anything. */
export interface TokenRow {
  readonly server: string;
  readonly tools: number;
  /** Every tool with its schema. */
  readonly all: number;
  /** Deferred, and the provider searches: what is not deferred, which is its search tool. */
  readonly deferred: number;
  /** Deferred, and Postern searches: `tool_search`. */
  readonly search: number;
  /** `tool_chain` alone, with the signatures of the tools or, above 8,000 characters, where to look for them. */
  readonly codeMode: number;
}

export interface AdapterPart {
  readonly adapterRows: readonly AdapterRow[];
  /** What every row calls. */
  readonly addTool: AnyTool;
}

export interface TurnPart {
  /** @param waitMs how long the tool waits, as for a server; 0: it does nothing */
  readonly openTurn: (waitMs: number) => Promise<TurnScene>;
}

export interface TokenPart {
  readonly measureTokens: () => Promise<readonly TokenRow[]>;
}

const folder = new URL("../test/agents/bench/", import.meta.url);

export const libraryParts = {
  adapters: async (): Promise<AdapterPart> => import(new URL("adapters.ts", folder).href),
  turn: async (): Promise<TurnPart> => import(new URL("turn.ts", folder).href),
  tokens: async (): Promise<TokenPart> => import(new URL("tokens.ts", folder).href),
};
