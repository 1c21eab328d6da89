import { type ApprovalRecord, type JsonObject, messageOf } from "@postern/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Runtime } from "../runtime/api/api.ts";
import { createRuntime } from "../runtime/create.ts";
import { defineTool } from "../tools/define.ts";

/** A call as a model makes it in an agent library. */
export interface AdapterCall {
  /** The library's id of the call. */
  readonly id: string;
  /** Names the response of the model that holds the call. Calls of one response have the same turn. */
  readonly turn: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** An adapter with its library, as the contract drives it. */
export interface AdapterUnderTest {
  /**
   * Makes the call in the library and resolves to what its model reads. If the library's tools throw for errors, this may
   * reject: the message of the error counts as the text.
   */
  call(call: AdapterCall): Promise<string>;
}

export interface AdapterContractOptions {
  /** False for a library that does not say which calls are of one response. Default: true. */
  readonly hasTurns?: boolean;
}

/** What the note of a replayed outcome ends with. */
const replay = "did not run again";
const turn = "response_1";
const taken = { id: "call_1", turn, name: "take", arguments: { apples: 3 } };
const sent = { id: "call_1", turn, name: "send", arguments: { apples: 3 } };

/**
 * The contract of every adapter for an agent library. Call it in a test file of vitest. `open` gets a runtime and returns
 * the library with the runtime's tools; it is called once for each test. An own runtime is made for each test.
 *
 *     adapterContract("my library", (runtime) => myAgent(runtime));
 */
export function adapterContract(
  name: string,
  open: (runtime: Runtime) => AdapterUnderTest | Promise<AdapterUnderTest>,
  { hasTurns = true }: AdapterContractOptions = {},
): void {
  describe(`${name}: the contract of an adapter`, () => {
    let kit: AdapterKit;
    beforeEach(async () => {
      kit = await AdapterKit.open(open);
    });
    afterEach(() => kit.close());

    callContract(() => kit);
    decidedCalls(() => kit);
    equalCalls(() => kit, hasTurns);
  });
}

/** A runtime with two tools that count their runs: `take` is safe, `send` needs a person. */
class AdapterKit {
  readonly runtime: Runtime;
  readonly ran: readonly unknown[];
  readonly #adapter: AdapterUnderTest;

  private constructor(runtime: Runtime, ran: readonly unknown[], adapter: AdapterUnderTest) {
    this.runtime = runtime;
    this.ran = ran;
    this.#adapter = adapter;
  }

  static async open(open: (runtime: Runtime) => AdapterUnderTest | Promise<AdapterUnderTest>): Promise<AdapterKit> {
    const ran: unknown[] = [];
    const tool = (name: string, risk: "safe" | "high") =>
      defineTool({
        ...({ name, risk, description: `${name} apples.`, effects: "write", idempotent: false } as const),
        inputSchema: { type: "object", properties: { apples: { type: "number" } }, required: ["apples"] },
        execute: (given) => `basket number ${ran.push(given)}`,
      });
    const tools = [tool("take", "safe"), tool("send", "high")];
    const runtime = await createRuntime({ tools, approvals: { patience: "suspend" } });
    return new AdapterKit(runtime, ran, await open(runtime));
  }

  /** What the model reads. */
  async read(call: AdapterCall): Promise<string> {
    try {
      return await this.#adapter.call(call);
    } catch (error) {
      return messageOf(error);
    }
  }

  async requests(): Promise<readonly ApprovalRecord[]> {
    return this.runtime.approvals.list({ state: "pending" });
  }

  async decide(decision: "approved" | "denied", reason?: string): Promise<void> {
    const by = { user: "grace" };
    for (const { id } of await this.requests())
      await this.runtime.approvals.decide(id, { decision, by, ...(reason !== undefined && { reason }) });
  }

  async close(): Promise<void> {
    await this.runtime.close();
  }
}

/** A call that needs no person. */
function callContract(kit: () => AdapterKit): void {
  it("runs a safe call once, and the model reads its result", async () => {
    expect(await kit().read(taken)).toContain("basket number 1");
    expect(kit().ran).toEqual([{ apples: 3 }]);
  });

  it("runs a call that is sent again with its id once, and says that it is a replay", async () => {
    expect(await kit().read(taken)).not.toContain(replay);
    const again = await kit().read(taken);
    for (const part of ["basket number 1", replay]) expect(again).toContain(part);
    expect(kit().ran).toHaveLength(1);
  });

  it("runs nothing for wrong arguments, and names the member", async () => {
    const text = await kit().read({ ...taken, arguments: { apples: "three" } });
    expect(text).toContain("apples");
    expect(text).not.toContain("basket");
    expect(kit().ran).toEqual([]);
    expect(await kit().runtime.audit.query({ type: "tool_call.refused" })).toHaveLength(1); // the gate has seen it
  });

  it("answers a call of an unknown tool with a text that names it", async () => {
    expect(await kit().read({ ...taken, name: "no_such_tool" })).toContain("no_such_tool");
    expect(kit().ran).toEqual([]);
  });
}

/** A call that a person decides. */
function decidedCalls(kit: () => AdapterKit): void {
  it("runs nothing before a person has decided, and names the request", async () => {
    for (let sending = 0; sending < 2; sending += 1) {
      const text = await kit().read(sent);
      const requests = await kit().requests();
      expect(requests).toMatchObject([{ tool: "send", arguments: { apples: 3 } }]);
      expect(text).toContain(requests[0]?.id);
    }
    expect(kit().ran).toEqual([]);
  });

  it("runs an approved call once when it is sent again, and replays it then", async () => {
    await kit().read(sent);
    await kit().decide("approved");
    const first = await kit().read(sent);
    expect(first).toContain("basket number 1");
    expect(first).not.toContain(replay);
    for (let sending = 0; sending < 2; sending += 1) {
      const again = await kit().read(sent);
      for (const part of ["basket number 1", replay]) expect(again).toContain(part);
    }
    expect(kit().ran).toEqual([{ apples: 3 }]);
    expect(await kit().requests()).toEqual([]);
  });

  it("runs an approved call once when it is sent twice at once", async () => {
    await kit().read(sent);
    await kit().decide("approved");
    await Promise.all([kit().read(sent), kit().read(sent)]);
    expect(await kit().read(sent)).toContain("basket number 1");
    expect(kit().ran).toHaveLength(1);
  });

  it("tells the model the reason of a denial, and runs nothing", async () => {
    await kit().read(sent);
    await kit().decide("denied", "The orchard is closed");
    for (let sending = 0; sending < 2; sending += 1) expect(await kit().read(sent)).toContain("The orchard is closed");
    expect(kit().ran).toEqual([]);
  });
}

/** Two calls of one response that differ only in their ids: docs/reference/calls.md, "Identity of a call". */
function equalCalls(kit: () => AdapterKit, hasTurns: boolean): void {
  const other = { id: "call_2" };

  it("runs two equal calls of one response each", async () => {
    await kit().read(taken);
    expect(await kit().read({ ...taken, ...other })).toContain("basket number 2");
    expect(kit().ran).toHaveLength(2);
  });

  it.runIf(hasTurns)("asks about two equal calls of one response each, and runs both", async () => {
    const calls = [sent, { ...sent, ...other }];
    for (const call of calls) await kit().read(call);
    expect(await kit().requests()).toHaveLength(2);
    await kit().decide("approved");
    for (const [i, call] of calls.entries()) expect(await kit().read(call)).toContain(`basket number ${i + 1}`);
    expect(kit().ran).toHaveLength(2);
  });

  it.skipIf(hasTurns)("asks about two equal calls once, and runs one", async () => {
    for (const call of [sent, { ...sent, ...other }]) await kit().read(call);
    expect(await kit().requests()).toHaveLength(1);
    await kit().decide("approved");
    expect(await kit().read({ ...sent, ...other })).toContain("basket number 1");
    expect(await kit().read(sent)).toContain("basket number 1");
    expect(kit().ran).toHaveLength(1);
  });
}
