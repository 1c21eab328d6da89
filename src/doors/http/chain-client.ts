import type { OutcomeWire } from "../wire.ts";
import type { ChainsWire } from "../wire-chains.ts";
import type { Line } from "./client-line.ts";

/** Scripts that are not over, from the other end. Throws as PosternClient does. */
export class ChainClient {
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
  }

  list(where: { run_id?: string; before?: string; limit?: number } = {}): Promise<ChainsWire> {
    return this.#line.get("/v1/chains", where);
  }
  resume(id: string): Promise<OutcomeWire> {
    return this.#line.post(`/v1/chains/${encodeURIComponent(id)}/resume`, {});
  }
}
