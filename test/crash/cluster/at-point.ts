/**
 * Loaded before a `postern` process (`node --import`): the process kills itself at the point that its parent names, by a
 * message `{ point, nth }`. The product knows nothing of it.
 */
import { flushCompileCache } from "node:module";
import { isMainThread } from "node:worker_threads";
import { killer, namedWrite } from "../points.ts";

/** Points of a worker, and of a gateway that sends orders to one. */
export const gatewayPoints = [
  ...["hold.before", "hold.after", "decide.before", "decide.after", "claim.before", "claim.after"],
  ...["execute.before", "execute.after", "settle.before", "settle.after", "order.before", "order.after"],
  ...["checkpoint.before", "checkpoint.after", "anchored.before", "anchored.after"],
] as const;
export const workerPoints = [
  ...["taken.before", "taken.after", "execute.before", "execute.after", "answer.before", "answer.after"],
] as const;

const subjects = { "orders.": "order", "taken.": "taken", "done.": "answer" } as const;

if (isMainThread && process.send !== undefined) {
  const { PostgresStore } = await import("../../../packages/postern/src/store/postgres/postgres-store.ts");
  const { NatsLink } = await import("../../../packages/postern/src/workers/nats.ts");
  let at: (point: string) => void = () => {};
  process.on("message", ({ point, nth }: { readonly point: string; readonly nth: number }) => {
    at = killer(point, nth);
  });
  process.channel?.unref();
  setTimeout(flushCompileCache, 3_000).unref(); // Node does this itself only if the process is not killed
  Object.assign(globalThis, { crashPoint: (point: string) => at(point) });

  const { commit } = PostgresStore.prototype;
  PostgresStore.prototype.commit = async function (write, durability) {
    const name = namedWrite(write);
    if (name === undefined) return commit.call(this, write, durability);
    at(`${name}.before`);
    const committed = await commit.call(this, write, durability);
    at(`${name}.after`);
    return committed;
  };
  const { store } = NatsLink.prototype;
  NatsLink.prototype.store = async function (subject, text, options) {
    const name = Object.entries(subjects).find(([start]) => subject.startsWith(start))?.[1];
    if (name === undefined) return store.call(this, subject, text, options);
    at(`${name}.before`);
    const published = await store.call(this, subject, text, options);
    at(`${name}.after`);
    return published;
  };
}
