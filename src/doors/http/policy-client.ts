import type { Autonomy } from "../../calls/call.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { Explanation } from "../contract/policy.ts";
import type { NamedText } from "../policy-reader.ts";
import type { PolicyTestWire, PolicyWire, SimulationWire } from "../wire-policy.ts";
import type { Line } from "./client-line.ts";

/** The rules, and what they would decide, from the other end. Throws as PosternClient does. */
export class PolicyClient {
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
  }

  show(
    whose: {
      agent?: string | undefined;
      user?: string | undefined;
      run_id?: string | undefined;
      autonomy?: Autonomy | undefined;
    } = {},
  ): Promise<PolicyWire> {
    return this.#line.get("/v1/policy", whose);
  }
  /** As the operator, about a call of anybody. */
  explain(body: {
    tool: string;
    action?: string | undefined;
    arguments?: JsonObject | undefined;
    agent?: string | undefined;
    user?: string | undefined;
    run_id?: string | undefined;
    scopes?: readonly string[] | undefined;
    autonomy?: Autonomy | undefined;
  }): Promise<Explanation> {
    return this.#line.post("/v1/policy/explain", body);
  }
  simulate(body: {
    configuration: NamedText;
    tool?: string | undefined;
    run_id?: string | undefined;
    limit?: number | undefined;
  }): Promise<SimulationWire> {
    return this.#line.post("/v1/policy/simulate", body);
  }
  test(body: { configuration: NamedText; tables?: readonly NamedText[] | undefined }): Promise<PolicyTestWire> {
    return this.#line.post("/v1/policy/test", body);
  }
}
