/** A script that runs, is put away until a person has decided, or was cut short and can go on. */
export interface ChainWire {
  readonly call_id: string;
  readonly state: "running" | "waiting" | "interrupted";
  readonly advice?: string;
  readonly language?: string;
  readonly engine?: string;
  readonly image_bytes?: number;
  readonly since: string;
  readonly waiting: readonly { readonly tool: string; readonly approval_id: string; readonly line?: number }[];
  readonly expires_at?: string;
}
