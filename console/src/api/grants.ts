/** A remembered yes, as `/v1/grants` tells it. */
export interface Grant {
  readonly grant_id: string;
  readonly status: string;
  /** Why it answers nothing at present. */
  readonly silent?: string;
  readonly scope: { readonly tool: string; readonly action: string; readonly arguments?: unknown };
  readonly granted_to: { readonly agent: string };
  readonly for: string;
  readonly until: string;
  readonly reason: string;
  readonly by: string;
  readonly via: string;
  readonly risk_level: string;
  readonly uses: number;
}
