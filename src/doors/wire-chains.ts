/** Scripts that call tools, on the wire. */
import type { ChainEngine, ChainSummary } from "../calls/scripts.ts";
import { iso, type PrincipalWire, principalToWire } from "./wire.ts";

export interface ChainWire {
  readonly call_id: string;
  readonly state: ChainSummary["state"];
  readonly advice?: string | undefined;
  readonly requested_by: PrincipalWire;
  readonly run_id: string;
  readonly language?: string | undefined;
  readonly source: string;
  readonly engine?: string | undefined;
  readonly image_bytes?: number | undefined;
  readonly since: string;
  readonly waiting: readonly {
    readonly tool: string;
    readonly approval_id: string;
    readonly line?: number | undefined;
  }[];
  readonly expires_at?: string | undefined;
}

export interface ChainEngineWire {
  readonly name: string;
  readonly language?: ChainEngine["language"];
  readonly problem?: string | undefined;
  /** It may run here, and did not start when a script came. */
  readonly down?: true | undefined;
}

export interface ChainsWire {
  /** New to old, as they were called. */
  readonly chains: readonly ChainWire[];
  /** Where the next page begins (`before`); none where this is the last. */
  readonly next_before?: string | undefined;
  readonly engines: readonly ChainEngineWire[];
}

export function chainToWire(chain: ChainSummary): ChainWire {
  const { expiresAt } = chain;
  return {
    call_id: chain.callId,
    state: chain.state,
    advice: chain.advice,
    requested_by: principalToWire(chain.principal),
    run_id: chain.runId,
    language: chain.language,
    source: chain.source,
    engine: chain.engine,
    image_bytes: chain.imageBytes,
    since: iso(chain.since),
    waiting: chain.waiting.map(({ tool, approvalId, line }) => ({ tool, approval_id: approvalId, line })),
    expires_at: expiresAt === undefined ? undefined : iso(expiresAt),
  };
}

export function engineToWire({ name, language, problem, isDown }: ChainEngine): ChainEngineWire {
  return { name, language, problem, down: isDown };
}
