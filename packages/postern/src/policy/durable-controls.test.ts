import type { Autonomy, Json, NotedEvent, StoreWrite } from "@postern/core";
import { describe, expect, it } from "vitest";
import { actor } from "../../../../test/fakes/actors.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Committed, Store } from "../store/store.ts";
import type { Pausable } from "./controls.ts";
import { type ControlsOptions, openControls } from "./durable-controls.ts";

/** The part of a store that the controls use: versioned documents, and the events written with them. */
class Shelf {
  readonly documents = new Map<string, { version: number; body: Json }>();
  readonly events: NotedEvent[] = [];
  /** Runs before the next write of the state: the place where another process may win. */
  before: (() => void) | undefined;
  broken = false;

  commit(write: StoreWrite): Committed {
    if (write.write !== "document") throw new Error(`The controls wrote a ${write.write}.`);
    if (this.broken) throw new Error("disk full");
    if (write.kind === "controls") {
      const before = this.before;
      this.before = undefined;
      before?.();
    }
    const key = `${write.kind}/${write.id}`;
    const version = this.documents.get(key)?.version ?? 0;
    if (version !== write.expectedVersion) return { won: false, version };
    this.documents.set(key, { version: version + 1, body: structuredClone(write.body) });
    if (write.event?.moment === "noted") this.events.push(write.event);
    return { won: true };
  }

  /** As the port, for what is asked of it here. */
  asStore(): Store {
    const documents = {
      get: async (kind: string, id: string) => this.documents.get(`${kind}/${id}`),
      list: async (kind: string, prefix: string) =>
        [...this.documents.keys()]
          .filter((key) => key.startsWith(`${kind}/${prefix}`))
          .map((key) => key.slice(kind.length + 1))
          .sort(),
    };
    const store: Pick<Store, "commit" | "documents" | "follow"> = {
      commit: async (write) => this.commit(write),
      follow: () => ({ [Symbol.dispose]: () => {} }),
      documents,
    };
    return store as Store; // the controls use nothing else
  }
}

const open = (
  shelf: Shelf,
  more: Partial<ControlsOptions> = {},
  clock = new FakeClock(),
): ReturnType<typeof openControls> =>
  openControls({ store: shelf.asStore(), clock, policy: { version: "p1" }, ...more });

describe("the controls", () => {
  it("begin with everything on and the configured level", async () => {
    expect((await open(new Shelf(), { autonomy: () => "A2" })).state).toEqual({
      paused: false,
      autonomy: "A2",
      offTools: [],
      offServers: [],
    });
    expect((await open(new Shelf())).state.autonomy).toBeUndefined();
  });

  it("change at once, survive a restart, and say who did it when and why", async () => {
    const shelf = new Shelf();
    const clock = new FakeClock();
    const controls = await open(shelf, { autonomy: () => "A2" }, clock);
    await controls.pause(actor("ada"), "an incident");
    await clock.advance(1_000);
    await controls.setTool("mail", false, actor("bob"));
    await controls.setServer("github", false, actor("bob"));
    expect(controls.state).toEqual({
      paused: true,
      pausedBy: { at: clock.now() - 1_000, by: "ada", via: "session:ada", change: "pause", reason: "an incident" },
      autonomy: "A2",
      offTools: ["mail"],
      offServers: ["github"],
      pauses: [
        { kind: "tool", name: "mail", tenant: "default", at: clock.now(), by: "bob", via: "session:bob" },
        { kind: "server", name: "github", tenant: "default", at: clock.now(), by: "bob", via: "session:bob" },
      ],
    });
    const again = await open(shelf, { autonomy: () => "A2" }, clock);
    expect(again.state).toEqual(controls.state);
    expect(await again.history()).toEqual([
      { at: clock.now(), by: "bob", via: "session:bob", change: "server_off", value: "github" },
      { at: clock.now(), by: "bob", via: "session:bob", change: "tool_off", value: "mail" },
      { at: clock.now() - 1_000, by: "ada", via: "session:ada", change: "pause", reason: "an incident" },
    ]);
  });

  it("write an event with each change, in the same write (case 141)", async () => {
    const shelf = new Shelf();
    const controls = await open(shelf);
    await controls.setAutonomy("A1", actor("ada"), "careful");
    await controls.pause(actor("ada"));
    await controls.resume(actor("ada"));
    await controls.setTool("mail", false, actor("ada"));
    await controls.setServer("mail", false, actor("ada"));
    expect(shelf.events.map(({ type }) => type)).toEqual([
      "operator.action.autonomy",
      "operator.action.pause",
      "operator.action.resume",
      "operator.action.tool",
      "operator.action.server",
    ]);
    expect(shelf.events[0]).toMatchObject({
      by: "ada",
      tenant: "default",
      outcome: "success",
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      data: { change: "autonomy", value: "A1", reason: "careful" },
    });
  });

  it("pause agents and runs, each with its person, and resume them", async () => {
    const shelf = new Shelf();
    const clock = new FakeClock();
    const controls = await open(shelf, {}, clock);
    await controls.pauseOne({ kind: "agent", name: "bot" }, actor("ada"), "it loops");
    await controls.pauseOne({ kind: "run", name: "bot", tenant: "acme" }, actor("bob"));
    await controls.pauseOne({ kind: "agent", name: "bot" }, actor("bob"));
    const { state } = await open(shelf);
    const at = clock.now();
    expect(state.pauses).toEqual([
      { kind: "agent", name: "bot", tenant: "default", at, by: "ada", via: "session:ada", reason: "it loops" },
      { kind: "run", name: "bot", tenant: "acme", at, by: "bob", via: "session:bob" },
    ]);
    expect(shelf.events.map(({ type, tenant }) => [type, tenant])).toEqual([
      ["operator.action.pause", "default"],
      ["operator.action.pause", "acme"],
    ]);
    await controls.resume(actor("ada"));
    await controls.resumeOne({ kind: "agent", name: "bot" }, actor("ada"));
    await controls.resumeOne({ kind: "run", name: "bot", tenant: "acme" }, actor("ada"));
    expect(controls.state.pauses).toBeUndefined();
  });

  it("keep at most 200 paused runs of a tenant", async () => {
    const controls = await open(new Shelf());
    for (let i = 0; i < 200; i += 1) await controls.pauseOne({ kind: "run", name: `r${i}` }, actor("ada"));
    const one = { kind: "run", name: "one_more" } as const;
    await expect(controls.pauseOne(one, actor("ada"))).rejects.toThrow("200 runs are paused already");
    expect((await controls.pauseOne({ ...one, tenant: "acme" }, actor("ada"))).pauses).toHaveLength(201);
    await controls.resumeOne({ kind: "run", name: "r7" }, actor("ada"));
    await controls.pauseOne(one, actor("ada"));
  });

  it("write nothing if nothing changes", async () => {
    const shelf = new Shelf();
    const controls = await open(shelf);
    await controls.resume(actor("ada"));
    await controls.setTool("mail", true, actor("ada"));
    await controls.pause(actor("ada"));
    await controls.pause(actor("bob"));
    await controls.setAutonomy("A1", actor("ada"));
    await controls.setAutonomy("A1", actor("bob"));
    expect(shelf.events.length).toBe(2);
    expect((await controls.history()).length).toBe(2);
  });

  it("keep an operator's level over the configured one and log that", async () => {
    const shelf = new Shelf();
    const told: string[] = [];
    const first = await open(shelf, { autonomy: () => "A2" });
    await first.setTool("mail", false, actor("ada"));
    expect((await open(shelf, { autonomy: () => "A1" })).state.autonomy).toBe("A1");
    await first.setAutonomy("A3", actor("ada"));
    expect((await open(shelf, { autonomy: () => "A1", log: (message) => told.push(message) })).state.autonomy).toBe(
      "A3",
    );
    expect(told).toEqual(["The configuration asks for autonomy A1; an operator set A3, which holds."]);
  });

  it("keep what another process changed meanwhile", async () => {
    const shelf = new Shelf();
    const [one, other] = [await open(shelf), await open(shelf)];
    await one.pause(actor("ada"));
    let raced: Promise<unknown> = Promise.resolve();
    shelf.before = () => {
      raced = other.setTool("mail", false, actor("bob"));
      shelf.documents.set("controls/state", {
        version: 2,
        body: {
          state: { paused: true, autonomy: null, offTools: ["post"], offServers: [] },
          change: { at: 1, by: "eve", change: "tool_off", value: "post" },
        },
      });
    };
    await one.setServer("github", false, actor("ada"));
    await raced;
    const { state } = await open(shelf);
    expect(state).toEqual({
      paused: true,
      autonomy: undefined,
      offTools: ["mail", "post"],
      offServers: ["github"],
      pauses: [expect.objectContaining({ name: "mail" }), expect.objectContaining({ name: "github" })],
    });
    expect((await one.history()).map(({ by }) => by).sort()).toEqual(["ada", "ada", "bob", "eve"]);
  });

  it("lose none of many changes made at once", async () => {
    const shelf = new Shelf();
    const controls = await open(shelf);
    await Promise.all(Array.from({ length: 50 }, (_, i) => controls.setTool(`tool_${i}`, false, actor("ada"))));
    expect(controls.state.offTools.length).toBe(50);
    expect((await controls.history()).length).toBe(50);
  });

  it("do not change when the change could not be written, and work again when it can", async () => {
    const shelf = new Shelf();
    const controls = await open(shelf);
    shelf.broken = true;
    await expect(controls.pause(actor("ada"))).rejects.toThrow("disk full");
    expect(controls.state.paused).toBe(false);
    shelf.broken = false;
    expect((await controls.pause(actor("ada"))).paused).toBe(true);
  });

  it("give up when they lose every time", async () => {
    const shelf = new Shelf();
    const controls = await open(shelf);
    const lose = (): void => {
      shelf.before = lose;
      const version = (shelf.documents.get("controls/state")?.version ?? 0) + 1;
      shelf.documents.set("controls/state", {
        version,
        body: {
          state: { paused: false, autonomy: null, offTools: [], offServers: [] },
          change: { at: 1, by: "eve", change: "resume" },
        },
      });
    };
    shelf.before = lose;
    await expect(controls.pause(actor("ada"))).rejects.toMatchObject({ code: "document_contended" });
  });

  it("refuse an invalid level, name or operator", async () => {
    const controls = await open(new Shelf());
    const invalid = { code: "request_invalid" };
    await expect(controls.setAutonomy("A7" as Autonomy, actor("ada"))).rejects.toMatchObject({
      ...invalid,
      message: expect.stringContaining("`A7`"),
    });
    await expect(controls.setTool("", false, actor("ada"))).rejects.toMatchObject(invalid);
    await expect(controls.pause(actor(""))).rejects.toMatchObject(invalid);
    for (const [kind, name] of [
      ["agent", ""],
      ["agent", "a\u0000b"],
      ["run", "a b"],
      ["team", "a"],
    ])
      await expect(
        controls.pauseOne({ kind, name } as Pausable, actor("ada")),
        `${kind} ${name}`,
      ).rejects.toMatchObject(invalid);
    await expect(open(new Shelf(), { autonomy: () => "A7" as Autonomy })).rejects.toMatchObject(invalid);
  });

  it.each([
    7,
    {},
    { state: { paused: "no" } },
    { state: { paused: true, autonomy: "A9", offTools: [], offServers: [] } },
    { state: { paused: true, autonomy: null, offTools: [7], offServers: [] } },
    { state: { paused: true, autonomy: null, offTools: [], offServers: [] } },
  ])("refuse an unknown document: %j", async (body) => {
    const shelf = new Shelf();
    shelf.documents.set("controls/state", { version: 1, body: body as Json });
    await expect(open(shelf)).rejects.toMatchObject({
      code: "internal",
      message: expect.stringContaining("The controls in the store are not"),
    });
  });
});
