/** What the server sends for this screen: docs/reference/http.md. */
export interface RunWire {
  readonly run_id: string;
  readonly principal?: { readonly agent: string; readonly user?: string };
  readonly state: string;
  readonly task_id?: string;
  readonly created_at: string;
  readonly last_event_at: string;
  readonly counts: {
    readonly started: number;
    readonly completed: number;
    readonly failed: number;
    readonly blocked: number;
    readonly previewed: number;
    readonly waiting: number;
  };
  readonly governance: { readonly result: string; readonly reasons: readonly { readonly message: string }[] };
}

/** The latest first. */
export interface RunPage {
  readonly runs: readonly RunWire[];
  readonly next_after?: string;
}

export interface TimelineApproval {
  readonly approval_id: string;
  readonly status: string;
  readonly asked_at: string;
  readonly expires_at: string;
  readonly decided_at?: string;
  readonly decided_as?: string;
  readonly decided_by?: string;
}

export interface TimelineCall {
  readonly call_id: string;
  /** What calls of a script name as their parent. */
  readonly key?: string;
  readonly state: string;
  readonly tool: string;
  readonly action: string;
  readonly agent?: string;
  readonly user?: string;
  readonly parent_id?: string;
  /** Of the script, when it is known. */
  readonly line?: number;
  readonly risk_level?: string;
  readonly code?: string;
  readonly message?: string;
  readonly arrived_at: string;
  readonly started_at?: string;
  readonly ended_at?: string;
  readonly approval?: TimelineApproval;
  readonly artifacts: readonly { readonly digest: string; readonly media_type?: string; readonly name?: string }[];
}

export interface TimelinePage {
  readonly calls: readonly TimelineCall[];
  /** That made some of them, and stand on another page. */
  readonly scripts?: readonly TimelineCall[];
  readonly next_before?: string;
}
