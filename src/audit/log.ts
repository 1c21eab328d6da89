/**
 * What remains: an RFC 6962 Merkle tree over the store's entries, with Ed25519 checkpoints.
 *
 * Invariant: the tree follows commits and never leads them; a checkpoint signs only what is committed; the verifier
 * (verify.ts) shares no code with the writer and trusts only bodies, checkpoints and the public key.
 * Next: entry.ts (an event as canonical JSON), tree.ts (the tree's right edge), checkpoint.ts (signed notes),
 * audit-log.ts (the follower), verify.ts, query.ts.
 */
import type { Json } from "../core/json.ts";

/** SPEC 14.7, as kept and as sent: snake_case. `audit_id` and `seq` come from the place in the log. */
export interface AuditEvent {
  readonly audit_id: string;
  readonly seq: number;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly trace_id: string;
  readonly tenant: string;
  readonly type: string;
  readonly stage: string;
  readonly summary: string;
  readonly outcome: "success" | "failure" | "suppressed" | "info";
  readonly principal?: { readonly agent: string; readonly user?: string; readonly via?: string };
  readonly refs: {
    readonly run?: string;
    readonly task?: string;
    readonly step?: string;
    readonly tool_call?: string;
    readonly approval?: string;
    readonly key?: string;
    /** The remembered yes that answered for a person; where it was attempted. */
    readonly grant?: string;
    /** The call whose script made this one; where it was attempted. */
    readonly parent?: string;
  };
  readonly tool_name?: string;
  /** The MCP server the tool comes from; none: this process, or a call that ended before its tool was weighed. */
  readonly connector_id?: string;
  readonly action?: string;
  readonly risk_level?: string;
  readonly autonomy_level?: string;
  readonly verdict?: string;
  readonly reasons?: readonly {
    readonly rule: string;
    readonly says: string;
    readonly where?: string;
  }[];
  readonly policy_version?: string;
  readonly code?: string;
  readonly latency_ms?: number;
  readonly request_hash?: string;
  readonly response_hash?: string;
  readonly payload_ref?: string;
  readonly decided_by?: string;
  /** With which credential: `session:ann`, `token:tok_…`, `channel:ops`. */
  readonly decided_via?: string;
  readonly reason?: string;
  readonly data?: Json;
}

export interface AuditFilter {
  readonly traceId?: string;
  /** Exact, or a prefix that ends in `.`: `gate.`; of several any. */
  readonly type?: string | readonly string[];
  readonly tool?: string;
  readonly outcome?: string;
  readonly tenant?: string;
  /** An arrival's id or a call's key; of several any. */
  readonly callId?: string | readonly string[];
  readonly runId?: string;
  /** The principal's agent. */
  readonly agent?: string;
  /** The person who decided it, voted or did it by hand. */
  readonly by?: string;
  /** Stands somewhere in the entry, in this spelling. */
  readonly text?: string;
  /** Wall clock, milliseconds. */
  readonly since?: number;
  readonly until?: number;
  /** Entries with `seq` above it. */
  readonly after?: number;
  readonly limit?: number;
}

/**
 * The same, looked at from the end.
 *
 * @public
 */
export interface LatestFilter extends Omit<AuditFilter, "after"> {
  /** Entries with `seq` below it. */
  readonly before?: number;
}

/**
 * New to old. It may hold less than was asked for although there is more: `nextBefore` says where to go on.
 *
 * @public
 */
export interface LatestPage {
  readonly events: readonly AuditEvent[];
  /** None: everything was looked at. */
  readonly nextBefore?: number;
}

/**
 * That an entry is in the log: hash `leaf` with `path` (RFC 6962 2.1.1) and it must be `root`, which `checkpoint` signs.
 *
 * @public
 */
export interface EntryProof {
  readonly seq: number;
  /** What `leaf` is the hash of: SHA-256 over 0x00 and this text. */
  readonly body: string;
  /** All digests are 64 hex digits. */
  readonly leaf: string;
  readonly path: readonly string[];
  /** Entries under `root`. */
  readonly size: number;
  readonly root: string;
  /** A signed note over size and root. */
  readonly checkpoint: string;
  /** The C2SP verifier key that signed it. */
  readonly publicKey: string;
}

export type Verification =
  | {
      readonly intact: true;
      readonly events: number;
      readonly head: string;
      readonly checkpoints: number;
      /** Entries after the last checkpoint: in order, but vouched for by nobody yet. None: all are signed. */
      readonly unsigned?: number;
    }
  | {
      readonly intact: false;
      readonly events: number;
      /** The first entry known to be wrong or missing. Where only a root differs, the first one after the last good checkpoint. */
      readonly firstBroken: number;
      readonly why: string;
      /**
       * It could not be read from `firstBroken` on: what stands there nobody knows. `damaged`: the database is, and no
       * further try reads it. `failing`: another try may.
       */
      readonly unreadable?: "damaged" | "failing";
    };

/** Who signed a log: this installation; the key that was given; a key nobody vouches for; another than was given. */
export type SignerState = "own" | "trusted" | "unproven" | "foreign";

/** Three answers, because a whole log can be a stranger's, or what is kept outside of it can be gone. */
export interface LogVerdict {
  /** Whether the entries are what was signed, whoever signed them. */
  readonly integrity: "intact" | "broken" | "unreadable";
  readonly signer: SignerState;
  /** `ok`: intact, not signed by a foreign key, and everything kept outside is there and agrees. */
  readonly outcome: "ok" | "failed";
  /** What is wrong outside the log: the anchor file, the witness. */
  readonly problems?: readonly string[];
}

export type Verified = Verification & LogVerdict;

export function integrityOf(found: Verification): LogVerdict["integrity"] {
  if (found.intact) return "intact";
  return found.unreadable === undefined ? "broken" : "unreadable";
}

export type Broken = Extract<Verification, { readonly intact: false }>;

/**
 * What the log was found to be, and when.
 *
 * @public
 */
export interface CheckedLog {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly found: Verification;
}

export interface AuditLog {
  /** Entries in the tree. */
  readonly size: number;
  /** Root over all of them, 64 hex digits. */
  head(): Promise<string>;
  /** Signs what is committed now, and gives the signed note: keep it elsewhere to prove that nothing was cut off later. */
  checkpoint(): Promise<string>;
  /** Reads everything again; a log that cannot be read is an answer, too. `against`: a signed note kept elsewhere. */
  verify(against?: string): Promise<Verified>;
  /** When the whole log was last verified, by whoever asked or in the background. */
  readonly checked: CheckedLog | undefined;
  /** Old to new, 200 at most unless `limit` says otherwise. */
  query(where: AuditFilter): Promise<readonly AuditEvent[]>;
  /** New to old, 100 at most unless `limit` says otherwise; a page comes soon, however rare its events are. */
  latest(where: LatestFilter): Promise<LatestPage>;
  /** Undefined: there is no such entry, or the log is not whole any more (`verify` tells where). */
  prove(seq: number): Promise<EntryProof | undefined>;
  /** The whole log as lines without their breaks, public key, bodies and checkpoints: the form of export-reader.ts. */
  export(): AsyncIterable<string>;
}
