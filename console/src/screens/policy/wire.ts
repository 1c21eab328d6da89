/** What the server sends for this screen: docs/reference/policy.md. */
export interface ReasonWire {
  readonly rule: string;
  readonly says: string;
  readonly where?: string;
}

export interface DecisionWire {
  readonly verdict: string;
  readonly risk: string;
  readonly reasons: readonly ReasonWire[];
  readonly policy_version: string;
  readonly missing_scope?: string;
  readonly observed?: string;
}

export interface ExplanationWire {
  readonly reached: "verdict" | "refused";
  readonly decision?: DecisionWire;
  readonly facts?: { readonly risk: string; readonly risk_source: string; readonly scopes: readonly string[] };
  readonly refusal?: { readonly code: string; readonly message: string };
  readonly summary?: string;
  /** Of a recorded call. */
  readonly recorded?: {
    readonly edited?: { readonly asked_digest: string; readonly digest: string };
    readonly weighed?: {
      readonly at: string;
      readonly verdict: string;
      readonly risk: string;
      readonly policy_version: string;
      readonly grant_id?: string;
    };
  };
}

export interface WarningWire {
  readonly code: string;
  readonly message: string;
  readonly where?: string;
}

export interface EffectiveLine {
  readonly tool: string;
  readonly action: string;
  readonly risk: string;
  readonly verdict: string;
  readonly by: ReasonWire;
  readonly depends: readonly ReasonWire[];
}

export interface PolicyWire {
  readonly policy_version: string;
  readonly lines: readonly EffectiveLine[] | null;
  readonly warnings: readonly WarningWire[];
}

export interface PolicyDocument {
  readonly name: string;
  readonly text: string;
  /** Of the file, where the text begins. */
  readonly line: number;
  readonly digest: string;
  readonly editable: boolean;
  readonly why_not?: string;
}

export interface VerdictChange {
  readonly call_id: string;
  readonly tool: string;
  readonly action: string;
  readonly requested_by: { readonly agent: string };
  readonly run_id: string;
  readonly at: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly edited?: true;
  readonly before: DecisionWire;
  readonly after: DecisionWire;
}

export interface SimulationWire {
  readonly replayed: number;
  readonly unknown_tools: Readonly<Record<string, number>>;
  readonly past_is_cut: boolean;
  readonly changes: readonly VerdictChange[];
  readonly warnings: readonly WarningWire[];
}

export interface TestWire {
  readonly passed: boolean;
  readonly results: readonly {
    readonly name: string;
    readonly passed: boolean;
    readonly expected: string;
    readonly where?: string;
    readonly decision?: DecisionWire;
    readonly problem?: string;
  }[];
  readonly warnings: readonly WarningWire[];
}
