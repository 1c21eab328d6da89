/** What the server sends for this screen: docs/reference/audit.md. */
export interface AuditEventWire {
  readonly audit_id: string;
  readonly seq: number;
  readonly timestamp: string;
  readonly type: string;
  readonly summary: string;
  readonly outcome: string;
  readonly trace_id: string;
  readonly tenant: string;
  readonly principal?: { readonly agent: string; readonly user?: string; readonly via?: string };
  readonly refs: Readonly<Record<string, string>>;
  readonly tool_name?: string;
  readonly action?: string;
  readonly risk_level?: string;
  readonly verdict?: string;
  readonly code?: string;
  readonly latency_ms?: number;
  readonly decided_by?: string;
  readonly decided_via?: string;
  readonly reason?: string;
  readonly reasons?: readonly { readonly rule: string; readonly says: string; readonly where?: string }[];
}

export interface LatestWire {
  readonly events: readonly AuditEventWire[];
  readonly next_before?: number;
  readonly size: number;
  readonly checked?: CheckedWire;
}

export interface ProofWire {
  readonly seq: number;
  readonly body: string;
  readonly leaf: string;
  readonly path: readonly string[];
  readonly size: number;
  readonly root: string;
  readonly checkpoint: string;
  readonly public_key: string;
}

export interface VerificationWire {
  readonly intact: boolean;
  /** What is wrong outside the log: the anchor file, the witness. */
  readonly problems?: readonly string[];
  readonly events: number;
  readonly head?: string;
  readonly checkpoints?: number;
  readonly unsigned?: number;
  readonly first_broken?: number;
  readonly why?: string;
  /** It could not be read from `first_broken` on. */
  readonly unreadable?: "damaged" | "failing";
}

/** What the log was last found to be, by whoever asked or in the background. */
export interface CheckedWire extends VerificationWire {
  readonly at: string;
}
