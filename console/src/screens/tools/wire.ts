/** What the server sends for this screen: docs/reference/tools.md and http.md. */
export interface ToolWire {
  readonly tool: string;
  readonly action: string;
  readonly title?: string;
  readonly description: string;
  readonly server?: string;
  readonly kind: string;
  readonly input_schema: JsonSchema;
  readonly output_schema?: JsonSchema;
  readonly risk: string;
  readonly risk_source: string;
  readonly guess?: { readonly risk: string; readonly why: readonly string[] };
  readonly effects: string;
  readonly open_world: boolean;
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
  readonly idempotent: boolean;
  readonly previews: boolean;
  readonly timeout_ms?: number;
  /** The page that MCP clients show for it. */
  readonly ui?: {
    readonly resource_uri: string;
    readonly csp?: Readonly<Record<string, unknown>>;
    readonly permissions: readonly string[];
  };
  readonly definition: string;
  readonly unavailable?: string;
  readonly blocked?: "changed" | "new" | "waiting";
  readonly health?: {
    readonly status: string;
    readonly consecutive_errors: number;
    readonly last_success_at?: string;
    readonly last_error?: string;
    readonly rate_limit_resets_at?: string;
  };
}

export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

export interface ActionStatistics {
  readonly tool: string;
  readonly action: string;
  readonly calls: number;
  readonly errors: number;
  readonly unknown: number;
  readonly refused: number;
  readonly p50_ms?: number;
  readonly p95_ms?: number;
  readonly last_call_at?: string;
  readonly last_error_at?: string;
  readonly last_error_code?: string;
}

export interface StatisticsWire {
  readonly since?: string;
  readonly tools: readonly ActionStatistics[];
  readonly minutes: readonly {
    readonly at: string;
    readonly ok: number;
    readonly failed: number;
    readonly refused: number;
    readonly unknown: number;
    readonly asked: number;
  }[];
}

export interface ServerHealth {
  readonly name: string;
  readonly status: "connected" | "connecting" | "disconnected";
  readonly problem?: string;
}

export interface ControlsWire {
  readonly paused: boolean;
  readonly off_tools: readonly string[];
  readonly off_servers: readonly string[];
}

interface Definition {
  readonly definition: string;
  readonly at: string;
  readonly by?: string;
  readonly via?: string;
}

export interface ChangesWire {
  readonly state: "pinned" | "changed" | "new";
  readonly pinned?: Definition;
  readonly offered?: Definition;
  readonly differences: readonly {
    readonly field: string;
    readonly path?: string;
    readonly rows: readonly string[];
  }[];
}

export interface OutcomeWire {
  readonly status: string;
  readonly call_id: string;
  readonly text?: string;
  readonly structured?: unknown;
  readonly approval_id?: string;
  readonly refusal?: { readonly code: string; readonly message: string };
}
