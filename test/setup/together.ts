/** Tests that share a process (groups.ts): what a file changes in it and leaves fails that file, not the next one. */
import { afterAll, expect } from "vitest";

const shared = [Object, Array, Function, Promise, Map, Error].map(({ prototype }) => prototype);

/** Process state that one of them could change for the next. Libraries register themselves below symbols and `__`. */
function surroundings(): object {
  const names = Object.getOwnPropertyNames(globalThis).filter((name) => !name.startsWith("__"));
  const events = process.eventNames().filter((event) => /^(?:SIG|un|warning)/.test(String(event)));
  return {
    folder: process.cwd(),
    environment: { ...process.env },
    globals: names.sort(),
    owned: shared.map((one) => Reflect.ownKeys(one)),
    listeners: events.map((event) => `${String(event)}: ${process.listenerCount(event)}`).sort(),
  };
}

const before = surroundings();
afterAll(() => expect(surroundings()).toEqual(before));
