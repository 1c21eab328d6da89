/** Who is signed in, as `/v1/session` tells it. */
export interface Session {
  readonly user: { readonly id: string; readonly name: string; readonly display_name: string };
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  readonly expires_at: string | null;
  readonly signed_in: boolean;
  /** How commands are typed where Postern was started. */
  readonly command?: string;
  /** What is read after this answer has all that happened up to this event. */
  readonly last_event_id?: string;
}

/** What signing in answers: who it is, and the word that every request brings along. It is told this once. */
export interface SignedIn extends Session {
  readonly csrf: string;
}
