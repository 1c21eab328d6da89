/** What the server sends for this screen: docs/reference/http.md. */
export interface CallWire {
  readonly call_id: string;
  readonly tool: string;
  readonly action: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly requested_by: { readonly agent: string; readonly user?: string };
  readonly run_id: string;
  readonly autonomy_level?: string;
  readonly state: string;
  readonly arrived_at: string;
}
