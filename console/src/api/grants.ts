/** A remembered yes, as `/v1/grants` tells it. */
export interface Grant {
  readonly grant_id: string;
  /** `void`: the tool, its rule or its giver is another now. */
  readonly status: "live" | "over" | "revoked" | "void";
  /** Why it answers nothing at present. */
  readonly silent?: string;
  readonly scope: { readonly tool: string; readonly action: string; readonly arguments?: unknown };
  readonly granted_to: { readonly agent: string; readonly user?: string };
  readonly for: string;
  readonly run_id?: string;
  readonly until: string;
  readonly reason: string;
  readonly by: string;
  readonly via: string;
  readonly on_behalf_of?: string;
  readonly risk_level: string;
  readonly uses: number;
  readonly revoked?: { readonly by: string; readonly at: string };
}
