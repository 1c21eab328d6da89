/**
 * The audit log: an RFC 6962 Merkle tree over the store's entries, with Ed25519 checkpoints.
 *
 * Invariant: the tree follows commits and never leads them; a checkpoint signs only what is committed; the verifier
 * (verify.ts) shares no code with the writer and trusts only bodies, checkpoints and the public key.
 * Next: entry.ts (an event as canonical JSON, in the two parts of parts.ts), tree.ts (the tree's right edge), checkpoint.ts (signed notes),
 * audit-log.ts (the follower), verify.ts, query.ts.
 */
import type { Json } from "@postern/core";

/** An entry as stored and as sent: snake_case. `audit_id` and `seq` come from its place in the log. */
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
  readonly principal?: {
    readonly agent: string;
    readonly user?: string;
    readonly groups?: readonly string[];
    readonly via?: string;
  };
  readonly refs: {
    readonly run?: string;
    readonly task?: string;
    readonly step?: string;
    readonly tool_call?: string;
    readonly approval?: string;
    readonly key?: string;
    /** The grant that replaced a person's decision. Only in the entry about the attempt. */
    readonly grant?: string;
    /** The call whose script made this one. Only in the entry about the attempt. */
    readonly parent?: string;
  };
  readonly tool_name?: string;
  /** The MCP server of the tool. Missing if the tool is local or the call ended before its verdict. */
  readonly connector_id?: string;
  readonly action?: string;
  readonly risk_level?: string;
  readonly autonomy_level?: string;
  readonly verdict?: string;
  /** In mode `observe`: the verdict of mode `enforce`. */
  readonly observed?: string;
  readonly reasons?: readonly {
    readonly rule: string;
    readonly effect: string;
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
  /** Exact, or a prefix that ends in `.`: `gate.`. With several, any of them. */
  readonly type?: string | readonly string[];
  readonly tool?: string;
  readonly outcome?: string;
  readonly tenant?: string;
  /** An arrival's id or a call's key. With several, any of them. */
  readonly callId?: string | readonly string[];
  readonly runId?: string;
  /** The principal's agent. */
  readonly agent?: string;
  /** The person who decided, voted or acted. */
  readonly by?: string;
  /** Any part of the entry. Upper and lower case differ. */
  readonly text?: string;
  /** Wall clock, milliseconds. */
  readonly since?: number;
  readonly until?: number;
  /** Entries with `seq` above it. */
  readonly after?: number;
  readonly limit?: number;
}

/**
 * The same filter for the newest entries.
 *
 * @public
 */
export interface LatestFilter extends Omit<AuditFilter, "after"> {
  /** Entries with `seq` below it. */
  readonly before?: number;
}

/**
 * Newest first. A page may have fewer than `limit` entries although more exist: `nextBefore` says where to continue.
 *
 * @public
 */
export interface LatestPage {
  readonly events: readonly AuditEvent[];
  /** Missing if all entries were read. */
  readonly nextBefore?: number;
}

/**
 * Proves that an entry is in the log: `leaf` hashed with `path` (RFC 6962 2.1.1) gives `root`, which `checkpoint` signs.
 *
 * @public
 */
export interface EntryProof {
  readonly seq: number;
  /** `leaf` is the SHA-256 of 0x00 and this text. */
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
      /** Entries after the last checkpoint: in order, but not signed yet. Missing if all are signed. */
      readonly unsigned?: number;
      /** Entries of which only the digest is kept, as a later entry says. Missing if there are none. */
      readonly erased?: number;
    }
  | {
      readonly intact: false;
      readonly events: number;
      /** The first entry known to be wrong or missing. If only a root differs, the first one after the last good checkpoint. */
      readonly firstBroken: number;
      readonly why: string;
      /**
       * The log could not be read from `firstBroken` on. `damaged`: the database is damaged, so another try fails too.
       * `failing`: another try may succeed.
       */
      readonly unreadable?: "damaged" | "failing";
    };

/** Who signed a log: this installation, the given key, a key that nothing proves, or another key than the given one. */
export type SignerState = "own" | "trusted" | "unproven" | "foreign";

/** Three answers, because an intact log can be signed by another key, or its copies outside can be missing. */
export interface LogVerdict {
  /** Whether the entries are what was signed, by any key. */
  readonly integrity: "intact" | "broken" | "unreadable";
  readonly signer: SignerState;
  /** `ok`: intact, not signed by a foreign key, and everything outside exists and agrees. */
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
 * A verification of the log, and when it ran.
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
  /** Entries under the last checkpoint. They are on disk: no crash of the database loses them. */
  readonly synced: number;
  /** Root over all of them, 64 hex digits. */
  head(): Promise<string>;
  /** Signs what is committed now. Store the signed note elsewhere to prove later that nothing was cut off. */
  checkpoint(): Promise<string>;
  /** Reads everything again. An unreadable log is a result too. `against`: a signed note that was stored elsewhere. */
  verify(against?: string): Promise<Verified>;
  /** The last verification of the whole log, requested or in the background. */
  readonly checked: CheckedLog | undefined;
  /** Oldest first, 200 at most unless `limit` is given. */
  query(where: AuditFilter): Promise<readonly AuditEvent[]>;
  /** Newest first, 100 at most unless `limit` is given. A page comes soon, even if its events are rare. */
  latest(where: LatestFilter): Promise<LatestPage>;
  /** Returns undefined if the entry does not exist, or if the log is not intact (`verify` says where). */
  prove(seq: number): Promise<EntryProof | undefined>;
  /** The whole log as lines without their breaks, public key, bodies and checkpoints: the form of export-reader.ts. */
  export(): AsyncIterable<string>;
}
