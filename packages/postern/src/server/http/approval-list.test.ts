import { describe, expect, it } from "vitest";
import { approvalScene } from "../../../../../test/fakes/approval-scene.ts";

describe("the list", () => {
  it("is filtered by state, risk, tool and run, and cut into pages that leave nothing out", async () => {
    const { get, post, held } = await approvalScene();
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1) ids.push(await held(`m${i}`, { run_id: i < 4 ? "one" : "two" }));
    const critical = await held("d", { run_id: "one" }, "drop");
    await post(`/v1/approvals/${ids[0]}/deny`);
    const list = async (query: string): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let after = ""; ; ) {
        const [, page] = await get(`/v1/approvals?${query}&limit=2${after === "" ? "" : `&after=${after}`}`);
        found.push(...(page["approvals"] as { approval_id: string }[]).map((one) => one.approval_id));
        if (page["next_after"] === undefined) return found;
        after = String(page["next_after"]);
      }
    };
    expect(await list("state=pending")).toEqual([critical, ...ids.slice(1)]); // they end in the same minute
    expect(await list("state=pending&risk=critical")).toEqual([critical]);
    expect(await list("tool=mail&run_id=one")).toEqual(ids.slice(0, 4));
    expect(await list("state=denied")).toEqual([ids[0]]);
    expect(await list("tool=none")).toEqual([]);
    expect((await get("/v1/approvals?risk=huge"))[0]).toBe(422);
  });

  it("has the state of the call that used an approval", async () => {
    const { get, post, held } = await approvalScene();
    const [used = "", denied = ""] = [await held("a"), await held("b")];
    await post(`/v1/approvals/${used}/approve`);
    await post(`/v1/approvals/${denied}/deny`);
    expect((await get(`/v1/approvals/${used}`))[1]).not.toHaveProperty("call_state");
    await post("/v1/calls", { tool: "mail", arguments: { to: "a" } }, "agent");
    const [, { approvals }] = await get("/v1/approvals?state=decided");
    expect(approvals).toMatchObject([{ approval_id: denied }, { approval_id: used, status: "used", call_state: "ok" }]);
    expect((approvals as readonly object[])[0]).not.toHaveProperty("call_state");
  });

  it("is by urgency where it waits, and its first page counts what waits by risk", async () => {
    const routes = [{ match: { tools: ["drop"] }, ttlMs: 120_000 }];
    const { get, post, held, inside } = await approvalScene({ approvals: { patience: "suspend", routes } });
    const high: string[] = [];
    for (let i = 0; i < 5; i += 1) high.push(await held(`m${i}`));
    const critical = await held("d", {}, "drop");
    const page = async (query: string) => (await get(`/v1/approvals?${query}`))[1];
    const first = await page("state=pending&limit=2");
    expect(first["approvals"]).toMatchObject([{ approval_id: critical }, { approval_id: high[0] }]);
    expect(first["waiting"]).toEqual({ safe: 0, medium: 0, high: 5, critical: 1 });
    expect(await page("state=pending&risk=critical")).toMatchObject({ waiting: { high: 5, critical: 1 } });
    expect(await page("state=pending&mine=true&tool=drop")).toMatchObject({ waiting: { high: 0, critical: 1 } });

    await post(`/v1/approvals/${high[0]}/deny`); // where the first page ended
    const urgent = await held("d2", {}, "drop");
    const second = await page(`state=pending&limit=2&after=${String(first["next_after"])}`);
    expect(second["approvals"]).toMatchObject([{ approval_id: high[1] }, { approval_id: high[2] }]);
    expect(second).not.toHaveProperty("waiting");
    expect(await page("state=denied")).not.toHaveProperty("waiting");
    await inside.clock.advance(120_000);
    expect(await inside.runtime.approvals.list({ state: "pending", limit: 1 })).toMatchObject([{ id: high[1] }]);
    expect(await page("state=pending")).toMatchObject({ waiting: { high: 4, critical: 0 } });
    expect(urgent).not.toBe(critical);
  });

  it("goes on where a page ended, though the last request of it was edited to another risk meanwhile", async () => {
    const by = { user: "ann", via: "session:ann", signedIn: true };
    const pay = {
      name: "pay",
      description: "Pays.",
      risk: "medium",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { euro: { type: "number" } } },
      classifyRisk: (given: unknown) => ((given as { readonly euro: number }).euro > 9 ? "critical" : "medium"), // its schema
      execute: () => "paid",
    } as const;
    const routes = [{ match: { tools: ["pay"] }, quorum: 2, typedConfirmation: false }];
    const { get, held, inside } = await approvalScene({ approvals: { patience: "suspend", routes } }, [pay as never]);
    const { approvals } = inside.runtime;
    const ids = [await held("m0"), await held("", { arguments: { euro: 1 } }, "pay")];
    for (let i = 0; i < 2; i += 1) ids.push(await held("", { arguments: { euro: 2 + i } }, "pay"));
    const [, first] = await get("/v1/approvals?state=pending&limit=2");
    expect(first["approvals"]).toMatchObject([{ approval_id: ids[0] }, { approval_id: ids[1] }]);
    const edit = { decision: "modified", arguments: { euro: 10 }, by } as const;
    expect(await approvals.decide(ids[1] ?? "", edit)).toMatchObject({ approval: { risk: "critical" } });
    const [, second] = await get(`/v1/approvals?state=pending&limit=2&after=${String(first["next_after"])}`);
    expect(second["approvals"]).toMatchObject([{ approval_id: ids[2] }, { approval_id: ids[3] }]);
    expect(second).not.toHaveProperty("next_after");
  });

  it("is of what is decided new to old, a page at a time, whatever became of it", async () => {
    const { get, post, held } = await approvalScene();
    const ids: string[] = [];
    for (let i = 0; i < 4; i += 1) ids.push(await held(`m${i}`));
    await post(`/v1/approvals/${ids[0]}/approve`);
    await post(`/v1/approvals/${ids[1]}/deny`);
    await post(`/v1/approvals/${ids[3]}/skip`);
    const [, first] = await get("/v1/approvals?state=decided&limit=2");
    expect(first["approvals"]).toMatchObject([
      { approval_id: ids[3], status: "skipped" },
      { approval_id: ids[1], status: "denied" },
    ]);
    expect(first).not.toHaveProperty("waiting");
    const [, second] = await get(`/v1/approvals?state=decided&limit=2&after=${String(first["next_after"])}`);
    expect(second["approvals"]).toMatchObject([{ approval_id: ids[0], status: "approved" }]);
    expect(second).not.toHaveProperty("next_after");
  });

  it("shows as mine what may be decided, and to an agent its own and no input schemas", async () => {
    const routes = [{ match: { tools: ["drop"] }, to: { users: ["ann"] } }];
    const { get, held } = await approvalScene({ approvals: { patience: "suspend", routes } });
    const id = await held("x");
    await held("x", {}, "drop");
    const [, mine] = await get("/v1/approvals?state=pending&mine=true");
    expect(mine).toMatchObject({ approvals: [{ approval_id: id }] });
    expect((mine["approvals"] as object[])[0]).not.toHaveProperty("input_schema");
    expect((await get("/v1/approvals", "agent"))[1]["approvals"]).toHaveLength(2);
    expect((await get("/v1/approvals?mine=true", "agent"))[1]["approvals"]).toHaveLength(0);
  });
});
