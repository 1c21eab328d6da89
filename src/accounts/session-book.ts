import { randomBytes, timingSafeEqual } from "node:crypto";
import { newId } from "../calls/ids.ts";
import { type Json, sha256 } from "../calls/json.ts";
import type { AccountNotes, Note } from "./account-notes.ts";
import type { Account, LiveSession, SignedIn } from "./accounts.ts";

/**
 * When a session ends.
 *
 * @public
 */
export interface SessionLimits {
  /** Unused for so long, it ends. */
  readonly idleMs: number;
  /** However much it is used. */
  readonly absoluteMs: number;
}

export const defaultSessionLimits: SessionLimits = { idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 };

/** What is kept of a session: hashes of its secrets, never one of them. */
interface SessionRecord {
  readonly id: string;
  readonly name: string;
  readonly epoch: number;
  /** Of the word that the page keeps: without it the cookie is nobody's. None: begun before there were any, and over. */
  readonly proof?: string;
  readonly secret: string;
  /** Sent to the browser, and not come back yet: until it does, the present one stays good. */
  readonly next?: string;
  readonly nextAt?: number;
  /** Replaced a moment ago: requests on their way still carry it. */
  readonly last?: string;
  readonly lastUntil?: number;
  readonly createdAt: number;
  readonly rotatedAt: number;
  readonly seenAt: number;
  readonly ended?: true;
}

interface Kept {
  readonly record: SessionRecord;
  readonly version: number;
}

/** Which of its secrets a cookie has. */
type Which = "secret" | "next" | "last";

interface ByCookie {
  readonly place: string;
  readonly kept: Kept;
  readonly which: Which;
}

export interface KnownSession {
  readonly name: string;
  readonly epoch: number;
  readonly session: LiveSession;
  readonly cookie?: string;
}

const kind = "session";
/** So many at a time for one person; the one that was not used for longest gives way. Documents are never removed, so places are used again. */
const places = 10;
const rotateAfterMs = 15 * 60_000;
const overlapMs = 60_000;
const seenEveryMs = 60_000;

/**
 * Sessions of browsers. A browser sends the cookie to every port of the host, so it proves nothing by itself: a second
 * secret, the proof, is told once when the session begins, kept by the page and sent with each request. The cookie is
 * `PLACE.SECRET`; the secret is replaced now and then, and the one before it ends as soon as the new one was seen and a
 * minute has passed: a stolen cookie does not stay good beside its owner's.
 */
export class SessionBook {
  readonly #notes: AccountNotes;
  readonly #limits: SessionLimits;

  constructor(notes: AccountNotes, limits: SessionLimits = defaultSessionLimits) {
    this.#notes = notes;
    this.#limits = limits;
  }

  async begin(account: Account, epoch: number, note: Note): Promise<Pick<SignedIn, "session" | "cookie" | "csrf">> {
    return this.#notes.untilWon(async () => {
      const now = this.#notes.now;
      const { place, version } = await this.#freePlace(account, epoch);
      const [secret, csrf] = [fresh(), fresh()];
      const record: SessionRecord = {
        id: newId("ses"),
        name: account.name,
        epoch,
        proof: sha256(csrf),
        secret: sha256(secret),
        createdAt: now,
        rotatedAt: now,
        seenAt: now,
      };
      const said: Note = { ...note, data: { ...note.data, session: record.id } };
      const won = await this.#put(place, { record, version }, said);
      return won ? { session: this.#live(record), cookie: `${place}.${secret}`, csrf } : undefined;
    });
  }

  /**
   * Undefined: wrong, ended, or over. Whether its account still lets it be is the caller's question. A cookie without its
   * proof moves nothing: it neither keeps the session alive nor gets the next cookie.
   */
  async find(cookie: string, csrf: string): Promise<KnownSession | undefined> {
    const found = await this.#byCookie(cookie);
    if (found === undefined || !isSame(sha256(csrf), found.kept.record.proof ?? "")) return undefined;
    const { place, kept, which } = found;
    const { record } = kept;
    const moved = this.#moved(record, which);
    const known = { name: record.name, epoch: record.epoch, session: this.#live(record) };
    if (moved === undefined) return known;
    const won = await this.#put(place, { record: moved.record, version: kept.version }, undefined);
    return won && moved.secret !== undefined ? { ...known, cookie: `${place}.${moved.secret}` } : known;
  }

  /** The session of this cookie, if it was one. Ending it takes no proof. */
  async end(cookie: string, note: (name: string) => Promise<Note>): Promise<string | undefined> {
    return this.#notes
      .untilWon(async () => {
        const found = await this.#byCookie(cookie);
        if (found === undefined) return { ended: undefined };
        const { place, kept } = found;
        const record: SessionRecord = { ...kept.record, ended: true };
        const said = { ...(await note(record.name)), data: { session: record.id } };
        return (await this.#put(place, { record, version: kept.version }, said)) ? { ended: record.id } : undefined;
      })
      .then(({ ended }) => ended);
  }

  async #byCookie(cookie: string): Promise<ByCookie | undefined> {
    const [place = "", secret = "", ...more] = cookie.split(".");
    if (more.length > 0 || !/^usr_[\w-]{1,64}-\d$/.test(place) || secret.length !== 43) return undefined;
    const kept = await this.#kept(place);
    if (kept === undefined || !this.#isAlive(kept.record)) return undefined;
    const which = this.#which(kept.record, sha256(secret));
    return which && { place, kept, which };
  }

  /** What is due: the new secret was seen, a new one is wanted, or it was not written down for a while that it is in use. */
  #moved(
    record: SessionRecord,
    which: Which,
  ): { readonly record: SessionRecord; readonly secret?: string } | undefined {
    const now = this.#notes.now;
    if (which === "next" && record.next !== undefined) {
      const { next, nextAt: _at, ...rest } = record;
      const last = { last: record.secret, lastUntil: now + overlapMs };
      return { record: { ...rest, ...last, secret: next, rotatedAt: now, seenAt: now } };
    }
    const isDue = now - record.rotatedAt >= rotateAfterMs && now - (record.nextAt ?? 0) >= overlapMs;
    if (which === "secret" && isDue) {
      const secret = fresh();
      return { record: { ...record, next: sha256(secret), nextAt: now, seenAt: now }, secret };
    }
    return now - record.seenAt >= seenEveryMs ? { record: { ...record, seenAt: now } } : undefined;
  }

  #which(record: SessionRecord, hash: string): Which | undefined {
    if (isSame(hash, record.secret)) return "secret";
    if (record.next !== undefined && isSame(hash, record.next)) return "next";
    const isRecent = (record.lastUntil ?? 0) > this.#notes.now;
    return isRecent && record.last !== undefined && isSame(hash, record.last) ? "last" : undefined;
  }

  #isAlive({ ended, createdAt, seenAt }: SessionRecord): boolean {
    const now = this.#notes.now;
    const { idleMs, absoluteMs } = this.#limits;
    return ended !== true && now - seenAt < idleMs && now - createdAt < absoluteMs;
  }

  #live({ id, createdAt }: SessionRecord): LiveSession {
    return { id, expiresAt: createdAt + this.#limits.absoluteMs };
  }

  async #freePlace({ id }: Account, epoch: number): Promise<{ readonly place: string; readonly version: number }> {
    const all = await Promise.all(
      Array.from({ length: places }, async (_, at) => {
        const place = `${id}-${at}`;
        const kept = await this.#kept(place);
        const isTaken = kept !== undefined && kept.record.epoch === epoch && this.#isAlive(kept.record);
        return { place, version: kept?.version ?? 0, seenAt: isTaken ? kept.record.seenAt : 0 };
      }),
    );
    return all.reduce((best, one) => (one.seenAt < best.seenAt ? one : best));
  }

  async #kept(place: string): Promise<Kept | undefined> {
    const found = await this.#notes.get(kind, place);
    // Only this book writes documents of this kind.
    return found === undefined ? undefined : { record: found.body as unknown as SessionRecord, version: found.version };
  }

  #put(place: string, { record, version }: Kept, note: Note | undefined): Promise<boolean> {
    return this.#notes.put({ kind, id: place }, { body: asJson(record), version }, note);
  }
}

function fresh(): string {
  return randomBytes(32).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

function asJson(record: SessionRecord): Json {
  return JSON.parse(JSON.stringify(record)) as Json; // plain data, without what is undefined
}
