/**
 * The active policy of gateways that share a store: one document there, which every gateway follows.
 *
 * Invariant: a gateway has in force what the newest version of the document says. A version that it cannot read changes
 * nothing, and is logged.
 * Next: current-policy.ts (what is replaced), config/shared-policy-file.ts (the text in a file).
 */
import {
  type Actor,
  autonomies,
  type Clock,
  canonical,
  defined,
  messageOf,
  newTraceId,
  RuntimeFault,
} from "@postern/core";
import type { z } from "zod";
import { lazySchema } from "../checks/zod.ts";
import { Collection } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import type { PolicyParts } from "./current-policy.ts";

const kind = "policy";
const id = "active";

/** A policy as it was written, with everything that its file refers to. */
export type WrittenPolicy = z.output<ReturnType<typeof schemas>["written"]>;
/** The active one, by whom and since when. */
export type ActivePolicy = z.output<ReturnType<typeof schemas>["active"]>;

const schemas = lazySchema((zod) => {
  const written = zod.strictObject({
    name: zod.string().describe("the file that it came from"),
    text: zod.string().describe("the section `policy`, in YAML"),
    line: zod.int().min(1).describe("of the file, where the text begins"),
    guardrails: zod.array(zod.record(zod.string(), zod.unknown())).readonly(),
    autonomy: zod.enum(autonomies),
    files: zod.record(zod.string(), zod.string()).describe("its Cedar files, by the names that it uses"),
  });
  return { written, active: written.extend({ version: zod.int().min(1), by: zod.string(), at: zod.number() }) };
});

/** What a replacement is about to change. */
export interface PolicyDifference {
  readonly before: string;
  readonly after: string;
  readonly changes: readonly string[];
}

/**
 * Puts another policy in force in this process, when `record` has written it down.
 *
 * @param record returns false if it must not come into force
 */
export type ReplacePolicy = (
  next: PolicyParts,
  record: (difference: PolicyDifference) => Promise<boolean>,
) => Promise<PolicyDifference>;

export interface SharedPolicyOptions {
  /** Reads the policy of this gateway's own file. Undefined if that is code, which cannot be a document. */
  readonly own: (() => Promise<WrittenPolicy>) | undefined;
  /** @throws RuntimeFault `policy_invalid` */
  readonly read: (written: WrittenPolicy) => Promise<PolicyParts>;
  readonly log: (problem: string) => void;
}

interface Dependencies {
  readonly store: Pick<Store, "commit" | "documents">;
  readonly clock: Clock;
  readonly replace: ReplacePolicy;
}

interface OpenedParts extends Dependencies {
  readonly documents: Collection<ActivePolicy>;
}

export class SharedPolicy {
  readonly #options: SharedPolicyOptions;
  #opened: OpenedParts | undefined;
  /** The version that is in force here. */
  #applied = 0;
  /** Changes of the document are read and made one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: SharedPolicyOptions) {
    this.#options = options;
  }

  /** Whether gateways share the store. Otherwise the file is the truth. */
  get isShared(): boolean {
    return this.#opened !== undefined;
  }

  /** The first gateway makes the policy of its file the active one. The others follow, and say so if their file differs. */
  async open(given: Dependencies): Promise<Disposable | undefined> {
    const { store, clock } = given;
    const { own: readOwn, log } = this.#options;
    if (store.documents.follow === undefined) return undefined;
    if (readOwn === undefined) {
      log("The policy of this gateway is code, so it does not follow the active one in the store.");
      return undefined;
    }
    const own = await readOwn();
    const following = store.documents.follow(kind, () => void this.#follow());
    const documents = new Collection({ store, kind, read: activeFrom });
    this.#opened = { ...given, documents };
    const first = { ...own, version: 1, by: "postern", at: clock.now() };
    const found = await documents.change(id, (active) => (active === undefined ? { item: first } : undefined));
    if (found.item !== undefined && contentOf(found.item) !== contentOf(own))
      log(
        `The policy in \`${own.name}\` differs from the active one, which ${found.item.by} put in the store at ${new Date(found.item.at).toISOString()} and which is in force. \`postern policy activate ${own.name}\` makes this file the active one.`,
      );
    await this.#inTurn(() => this.#applyNewest());
    return following;
  }

  /** @throws RuntimeFault `internal` if gateways do not share the store */
  async active(): Promise<ActivePolicy> {
    const active = await this.#required().documents.get(id);
    if (active === undefined) throw new RuntimeFault("internal", "The active policy is gone from the store.");
    return active;
  }

  /**
   * Makes a policy the active one, here and on every other gateway, and records it.
   *
   * @param from returns undefined if nothing is to change any more, because of what is active now
   */
  activate(
    from: (active: ActivePolicy) => WrittenPolicy | undefined | Promise<WrittenPolicy | undefined>,
    { by, reason }: { readonly by: Actor; readonly reason?: string | undefined },
  ): Promise<PolicyDifference | undefined> {
    const { documents, clock, replace } = this.#required();
    return this.#inTurn(async () => {
      for (;;) {
        await this.#applyNewest();
        const active = await this.active();
        const written = await from(active);
        if (written === undefined) return undefined;
        const next = await this.#options.read(written);
        if (contentOf(written) === contentOf(active)) return replace(next, async () => false); // nothing to record
        const version = active.version + 1;
        let isLate = false;
        const difference = await replace(next, async ({ before, after, changes }) => {
          const at = clock.now();
          const data = { before, after, changes: [...changes], file: written.name, ...defined({ reason }) };
          const event = {
            ...({
              moment: "noted",
              at,
              traceId: newTraceId(),
              by: by.by,
              via: by.via,
              policyVersion: before,
              data,
            } as const),
            ...({
              type: "operator.action.policy_replaced",
              outcome: "success",
              tenant: by.tenant ?? "default",
            } as const),
            summary: `The policy of \`${written.name}\` is the active one of every gateway`,
          };
          const item = { ...written, version, by: by.by, at };
          const { changed } = await documents.change(id, (now) => {
            isLate = now?.version !== active.version;
            return isLate ? undefined : { item, event };
          });
          return changed;
        });
        if (isLate) continue; // another gateway was faster: its version is applied first
        this.#applied = version;
        return difference;
      }
    });
  }

  #follow(): Promise<void> {
    return this.#inTurn(() => this.#applyNewest()).catch((error: unknown) =>
      this.#options.log(
        `The active policy in the store cannot be used here, so version ${this.#applied} stays in force: ${messageOf(error)}`,
      ),
    );
  }

  /** The gateway that wrote it has recorded it. */
  async #applyNewest(): Promise<void> {
    const active = await this.active();
    if (active.version <= this.#applied) return;
    const { version: _, by: __, at: ___, ...written } = active;
    await this.#required().replace(await this.#options.read(written), async () => true);
    this.#applied = active.version;
  }

  #inTurn<Answer>(then: () => Promise<Answer>): Promise<Answer> {
    const done = this.#turn.then(then);
    this.#turn = done.catch(() => undefined); // the caller gets the error
    return done;
  }

  #required(): OpenedParts {
    if (this.#opened !== undefined) return this.#opened;
    throw new RuntimeFault("internal", "This store belongs to one Postern, so it has no active policy.");
  }
}

/** What decides about calls in it. */
function contentOf({ text, guardrails, autonomy, files }: WrittenPolicy): string {
  return canonical(JSON.parse(JSON.stringify({ text, guardrails, autonomy, files })));
}

/** If the document cannot be read, Postern does not start: it must not guess what an operator decided. */
function activeFrom(body: unknown): ActivePolicy {
  const { success, data, error } = schemas().active.safeParse(body);
  if (success) return data;
  const [{ path, message } = { path: [], message: "" }] = error.issues;
  throw new RuntimeFault(
    "internal",
    `The active policy in the store is not what Postern writes: \`${path.join(".")}\`: ${message}.`,
  );
}
