/** A subscriber may read a change when it is announced, before the disk has answered. */
import { describe, expect, it } from "vitest";
import { defineSkill, type Skills } from "../../packages/postern/src/builtin/index.ts";
import type { FeedEvent } from "../../packages/postern/src/observe/index.ts";
import { actor } from "../fakes/actors.ts";
import { ann } from "../fakes/deciders.ts";
import { ask, remember } from "../fakes/granting.ts";
import { heldDisk } from "../fakes/held-disk.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const files = sqliteFiles();
const run = { tenant: "default", runId: "run_1" };

interface Change {
  readonly output: string;
  /** Makes the object to change, and returns its id. */
  readonly before?: (h: RuntimeFixture) => Promise<string | undefined>;
  readonly make: (h: RuntimeFixture, id: string) => Promise<unknown>;
  /** Reads the state as a live page does after an announcement. */
  readonly asked: (h: RuntimeFixture) => unknown;
  readonly is: unknown;
}

const granted = async (h: RuntimeFixture) =>
  (await remember(h, await ask(h))) && h.runtime.approvals.grants.list()[0]?.id;
const grants = (h: RuntimeFixture) => h.runtime.approvals.grants.list({ state: "live" }).map(({ tool }) => tool);

function skillsOf({ runtime: { skills } }: RuntimeFixture): Skills {
  if (skills === undefined) throw new Error("this runtime was opened with skills");
  return skills;
}

const changes: Readonly<Record<string, Change>> = {
  "a grant": { output: "grant.made", before: ask, make: remember, asked: grants, is: ["mail"] },
  "the end of a grant": {
    output: "grant.revoked",
    before: granted,
    make: (h, id) => h.runtime.approvals.grants.revoke(id, ann),
    asked: grants,
    is: [],
  },
  "a pause": {
    output: "operator.action.pause",
    make: (h) => h.runtime.controls.pause(actor("ann")),
    asked: (h) => h.runtime.controls.state.paused,
    is: true,
  },
  "a skill": {
    output: "skill.activated",
    make: (h) => skillsOf(h).activate(run, "free", actor("ann")),
    asked: (h) => skillsOf(h).activeFor(run.tenant, run.runId)?.names,
    is: ["free"],
  },
};

describe("an announcement before the disk has answered already shows the new state:", () => {
  it.each(Object.entries(changes))("%s", async (name, { output, before, make, asked, is }) => {
    const skills = { folders: [], skills: [defineSkill({ name: "free", instructions: "Do it." })] };
    await using h = await runtimeFixture({ store: `sqlite:${files.at(`${name}.db`)}`, skills });
    const id = (await before?.(h)) ?? "";
    const received: string[] = [];
    const take = (events: readonly FeedEvent[]): boolean => received.push(...events.map(({ type }) => type)) > 0;
    const reader = { take, reset: () => {}, beat: () => {}, end: () => {} };
    using _ = await h.runtime.feed.open({ tenant: "default", also: "everything" }, undefined, reader);
    using disk = heldDisk();
    let isOver = false;
    const made = make(h, id).finally(() => {
      isOver = true;
    });
    for (let tries = 0; tries < 100 && !received.includes(output); tries += 1) await h.clock.advance(25);
    expect([received, isOver, disk.unanswered]).toEqual([expect.arrayContaining([output]), false, 1]);
    expect(asked(h)).toEqual(is);
    disk.release();
    await made;
    expect(asked(h)).toEqual(is);
  });
});
