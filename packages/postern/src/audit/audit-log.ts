import {
  type Clock,
  canonical,
  checkMember,
  counted,
  isJsonObject,
  type Json,
  messageOf,
  RuntimeFault,
} from "@postern/core";
import type { Store } from "../store/store.ts";
import { AnchorFile } from "./anchor-file.ts";
import { Anchors } from "./anchors.ts";
import { lastCheckpoint, type StoredCheckpoint, signCheckpoint } from "./checkpoint.ts";
import { checkpointId, exportLines } from "./export.ts";
import { LogFollower } from "./follower.ts";
import { Inclusion } from "./inclusion.ts";
import { otherKeyNamed } from "./key-of-log.ts";
import {
  type AuditEvent,
  type AuditFilter,
  type AuditLog,
  type CheckedLog,
  type EntryProof,
  integrityOf,
  type LatestFilter,
  type LatestPage,
  type Verification,
  type Verified,
} from "./log.ts";
import { openCheckpoint } from "./note.ts";
import { OutsideCopies } from "./outside.ts";
import { latestEvents, type QueriedLog, queryEvents } from "./query.ts";
import { Recheck, type RecheckOptions, type RecheckPace } from "./recheck.ts";
import type { Signer } from "./signer.ts";
import { Times } from "./times.ts";
import { type Edge, rootOf, Tree } from "./tree.ts";
import { trustedKey, verifyStore } from "./verify.ts";
import type { Witness } from "./witness.ts";

export interface AuditLogOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signer: Signer;
  /** Other processes sign the same log. A signer that is not the log's is refused then. */
  readonly isShared?: boolean;
  /** The store keeps its rows when the process ends. An empty one beside anchors of entries is refused then. */
  readonly isKept?: boolean;
  /** Stores checkpoints outside the store. It shows that table and checkpoints were cut off together. */
  readonly anchorFile?: string;
  readonly witness?: Witness | undefined;
  /** What others found: that entries are missing which were in the log. `verify` reports it. */
  readonly losses?: () => readonly string[];
  readonly log?: (problem: string) => void;
  /** Gets the result of each `verify` without `against`. */
  readonly verified?: (found: Verified) => void;
  /** Verifies the log in the background, again and again. */
  readonly recheck?: (RecheckPace & Pick<RecheckOptions, "altered">) | undefined;
}

/** A checkpoint is due after this time or this many entries, whichever comes first. */
const checkpointEveryMs = 1000;
const checkpointEvery = 1000;

/**
 * Continues from the last checkpoint, adds what was committed after it, then follows the store.
 *
 * If the log does not fit its last checkpoint, it is followed from its first entry: `log` gets the problem, every `verify`
 * finds it, and every further call is still recorded.
 *
 * @throws RuntimeFault `config_invalid` if the log is shared and another key signs it, or if the anchors have a log and the
 * store is empty
 */
export async function openAuditLog(options: AuditLogOptions): Promise<AuditLog & AsyncDisposable> {
  const { store, signer, isShared = false, isKept = false, anchorFile, log = () => undefined } = options;
  const last = await lastCheckpoint(store, signer.publicKey);
  if (isKept && last === undefined && anchorFile !== undefined) await refuseSecondLog(store, signer, anchorFile);
  const otherKey = isShared ? (last?.otherKey ?? (await otherKeyNamed(store, signer))) : undefined;
  if (otherKey !== undefined) throw foreignKey(otherKey, signer);
  if (last?.problem !== undefined) log(`${last.problem} Run \`postern audit verify\`.`);
  const opened = new FollowingLog(options, last?.edge, last?.checkpoint);
  await opened.start();
  return opened;
}

/** A second log under one key would prove the first one false, for good. */
async function refuseSecondLog(store: Store, { publicKey }: Signer, path: string): Promise<void> {
  const key = trustedKey(publicKey);
  const notes = await new AnchorFile(path).notes();
  const size = Math.max(0, ...notes.map((note) => openCheckpoint(note, key)?.size ?? 0));
  if (size === 0) return;
  for await (const _ of store.events({ after: -1, limit: 1 })) return;
  throw new RuntimeFault(
    "config_invalid",
    `The store is empty, and \`${path}\` signs a log of ${counted(size, "entry", "entries")}. Name the store that has this log, or copy that one into this with \`postern store copy\`. Only to begin a new log, name a new data folder.`,
  );
}

function foreignKey(otherKey: string, { origin }: Signer): RuntimeFault {
  return new RuntimeFault(
    "config_invalid",
    `The store's audit log is signed by the key \`${otherKey}\`, and this Postern's key is \`${origin}\`. Give it the log's key: put the \`audit.key\` and \`audit.pub\` of the log into its data folder instead of its own, or set \`POSTERN_AUDIT_KEY_FILE\` and name a data folder without \`audit.pub\`. Only to begin a new log, name an empty store.`,
  );
}

class FollowingLog implements AuditLog, AsyncDisposable {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #signer: Signer;
  readonly #outside: OutsideCopies;
  readonly #log: (problem: string) => void;
  readonly #verified: AuditLogOptions["verified"];
  readonly #tree: Tree;
  readonly #follower: LogFollower;
  readonly #inclusion: Inclusion;
  readonly #times: Times;
  readonly #recheck: Recheck | undefined;
  #checked: CheckedLog | undefined;
  #last: StoredCheckpoint | undefined;
  #stopTimer: (() => void) | undefined;
  /** Checkpoints are written one after another, so their sizes only grow. */
  #writing: Promise<unknown> = Promise.resolve();
  #busy = false;
  #closed = false;

  constructor(options: AuditLogOptions, edge: Edge | undefined, last: StoredCheckpoint | undefined) {
    const { store, clock, signer, anchorFile: path, witness, verified, log = () => undefined } = options;
    const { losses = () => [], isShared = false } = options;
    this.#verified = verified;
    this.#store = store;
    this.#clock = clock;
    this.#signer = signer;
    const anchors =
      path === undefined ? undefined : new Anchors({ store, path, isShared, publicKey: signer.publicKey, log });
    this.#outside = new OutsideCopies({ anchors, witness, log, losses });
    this.#log = log;
    this.#tree = new Tree(edge);
    this.#last = last;
    this.#inclusion = new Inclusion(store);
    this.#times = new Times(store);
    this.#follower = new LogFollower(
      this.#tree,
      store,
      () => this.#schedule(),
      (problem, error) => this.#report(problem, error),
    );
    this.#recheck = options.recheck && this.#rechecking(options.recheck);
  }

  async start(): Promise<void> {
    await this.#follower.start();
    await this.#outside.open({ size: this.size, head: await this.head() });
  }

  get size(): number {
    return this.#tree.size;
  }

  get synced(): number {
    return this.#last?.size ?? 0;
  }

  async head(): Promise<string> {
    return this.#tree.root();
  }

  checkpoint(): Promise<string> {
    const written = this.#writing.then(() => this.#checkpoint());
    this.#writing = written.catch(() => undefined); // the caller gets the error; the next one may work
    return written;
  }

  async verify(against?: string): Promise<Verified> {
    if (against !== undefined) checkMember("against", against, "a text", "request_invalid");
    await this.#tryCheckpoint();
    const problems = await this.#problemsOutside();
    const upTo = this.size;
    const seen = this.#sign(this.#tree.edge()); // what this process saw, even if the store was changed since
    const anchors = this.#notes(against === undefined ? [seen] : [seen, against]);
    const found = await verifyStore(this.#store, this.#signer.publicKey, { anchors, upTo });
    const outcome = found.intact && problems.length === 0 ? "ok" : "failed";
    const verdict = { integrity: integrityOf(found), signer: "own", outcome } as const;
    const verified = { ...found, ...verdict, ...(problems.length > 0 && { problems }) };
    if (against !== undefined) return verified; // a note from outside may come from anyone
    this.#keepChecked(verified);
    this.#verified?.(verified);
    return verified;
  }

  get checked(): CheckedLog | undefined {
    return this.#checked;
  }

  async query(where: AuditFilter): Promise<readonly AuditEvent[]> {
    return queryEvents(this.#queried(), where);
  }

  async latest(where: LatestFilter): Promise<LatestPage> {
    return latestEvents(this.#queried(), where);
  }

  async prove(seq: number): Promise<EntryProof | undefined> {
    if (!(Number.isSafeInteger(seq) && seq >= 0 && seq < this.size)) return undefined;
    const edge = this.#tree.edge(); // entries that are added while the log is read do not change it
    const { size } = edge;
    const place = await this.#inclusion.find(seq, size);
    return (
      place && {
        seq,
        ...place,
        size,
        root: rootOf(edge),
        checkpoint: this.#sign(edge),
        publicKey: this.#signer.publicKey,
      }
    );
  }

  async *export(): AsyncGenerator<string> {
    await this.#tryCheckpoint();
    yield* exportLines(this.#store, this.#signer.publicKey, () => this.#sign(this.#tree.edge()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#stopTimer?.();
    await this.#recheck?.[Symbol.asyncDispose]();
    this.#follower[Symbol.dispose]();
    if (this.#isDue(1) && this.#store.broken === undefined) await this.#tryCheckpoint();
    await this.#writing;
    await this.#outside[Symbol.asyncDispose]();
  }

  /** These notes and those outside the store. If those cannot be read, the verifier reports it. */
  async *#notes(more: readonly string[]): AsyncGenerator<string> {
    yield* more;
    yield* this.#outside.notes();
  }

  /** Runs between two checkpoints, so that each checkpoint in the store is anchored too. */
  #problemsOutside(): Promise<readonly string[]> {
    const problems = this.#writing.then(() => this.#outside.problems());
    this.#writing = problems.catch(() => undefined);
    return problems.catch(() => []); // the verifier reports what cannot be read
  }

  #sign(edge: Edge): string {
    return signCheckpoint(this.#signer, edge.size, rootOf(edge));
  }

  #queried(): QueriedLog {
    return { store: this.#store, times: this.#times, keyId: this.#signer.keyId, size: this.size };
  }

  /** Compares with the checkpoints in the store and with what this process saw. Only `verify` reads what is stored outside. */
  #rechecking(recheck: NonNullable<AuditLogOptions["recheck"]>): Recheck {
    return new Recheck({
      ...{ store: this.#store, clock: this.#clock, log: this.#log, ...recheck },
      verify: async (slowStore) => {
        const edge = this.#tree.edge();
        return verifyStore(slowStore, this.#signer.publicKey, { anchors: [this.#sign(edge)], upTo: edge.size });
      },
      checked: (found) => this.#keepChecked(found),
    });
  }

  #keepChecked(found: Verification): void {
    this.#checked = { at: this.#clock.now(), found };
  }

  async #checkpoint(): Promise<string> {
    if (this.#last?.size === this.size) return this.#last.note;
    const edge = this.#tree.edge();
    const note = this.#sign(edge);
    if (edge.size === 0) return note;
    const body = { edge: { roots: edge.roots, size: edge.size }, note };
    const id = checkpointId(edge.size);
    // It is synced before it is anchored: after a power cut, no anchor may be ahead of the log.
    const { won } = await this.#store.commit(
      { write: "document", kind: "checkpoint", id, body, expectedVersion: 0 },
      "synced",
    );
    if (!won && !(await this.#isStored(id, body.edge)))
      this.#log(
        `Another checkpoint over ${counted(edge.size, "entry", "entries")} with another root is there already.`,
      );
    this.#last = { size: edge.size, note };
    await this.#outside.keep(note);
    return note;
  }

  /** Whether another process has made the checkpoint over the same entries. */
  async #isStored(id: string, edge: { readonly roots: Json; readonly size: number }): Promise<boolean> {
    const { body } = (await this.#store.documents.get("checkpoint", id)) ?? {};
    return isJsonObject(body) && canonical(body["edge"] ?? null) === canonical(edge);
  }

  async #tryCheckpoint(): Promise<boolean> {
    try {
      await this.checkpoint();
      return true;
    } catch (error) {
      this.#report("A checkpoint of the audit log could not be written", error);
      return false;
    }
  }

  #isDue(entries: number): boolean {
    return this.size - (this.#last?.size ?? 0) >= entries;
  }

  #schedule(): void {
    if (this.#busy || this.#closed || !this.#isDue(1)) return;
    if (this.#isDue(checkpointEvery)) void this.#checkpointNow();
    else this.#startTimer();
  }

  #startTimer(): void {
    this.#stopTimer ??= this.#clock.in(checkpointEveryMs, () => void this.#checkpointNow(), false);
  }

  /** After a failure the next try waits for the timer. A broken store gets no further try. */
  async #checkpointNow(): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#busy = true;
    const written = await this.#tryCheckpoint();
    this.#busy = false;
    if (written) this.#schedule();
    else if (this.#store.broken === undefined && !this.#closed) this.#startTimer();
  }

  #report(problem: string, error?: unknown): void {
    this.#log(error === undefined ? problem : `${problem}: ${messageOf(error)}`);
  }
}
