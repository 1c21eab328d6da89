import { expect, it } from "vitest";
import { createRuntime } from "../../packages/postern/src/index.ts";
import type { OpenStore, Store, StoreContext } from "../../packages/postern/src/store/index.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

/** A store around another one, as a package's author would write it with our types alone. */
function counting(open: OpenStore): {
  readonly open: OpenStore;
  readonly writes: string[];
  readonly contexts: StoreContext[];
} {
  const writes: string[] = [];
  const houses: StoreContext[] = [];
  return {
    writes,
    contexts: houses,
    async open(given) {
      houses.push(given);
      const inner = await open(given);
      return new Proxy<Store>(inner, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          return (...words: readonly unknown[]): unknown => {
            if (name === "commit") writes.push((words[0] as { readonly write: string }).write); // a `Write`
            return Reflect.apply(member, target, words);
          };
        },
      });
    },
  };
}

it("an own store is opened with the runtime's clock, log and serializer, and closed with it", async () => {
  const own = counting((given) => new MemoryStore(given));
  const h = await runtimeFixture({ store: own.open, approvals: { patience: "suspend" } });
  const held = await h.runtime.invoke({ tool: "mail", arguments: { to: "ann" } }, asker);
  expect(held.status).toBe("pending");
  expect(own.writes).toContain("hold");
  expect(own.contexts).toHaveLength(1);
  expect(own.contexts[0]?.clock).toBe(h.clock);
  expect((await h.runtime.approvals.list({ tenant: asker.principal.tenant })).length).toBe(1);
  await h.runtime.close();
  await h[Symbol.asyncDispose]();
});

it("a function that opens no store is refused with the value", async () => {
  const open = (() => ({ commit: 5 })) as unknown as OpenStore; // as code without types may
  await expect(createRuntime({ store: open })).rejects.toMatchObject({
    code: "options_invalid",
    message: expect.stringContaining("it must open a store."),
  });
});
