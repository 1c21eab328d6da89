/**
 * Tests that share a process: a process for each, with its own import of the runtime, takes longer than the tests.
 *
 * A test that measures its process, changes its folder or environment, or counts its open files runs apart.
 */
import { afterAll, expect } from "vitest";

const shared = [Object, Array, Function, Promise, Map, Error].map(({ prototype }) => prototype);

/** Process state that one of them could change for the next. */
function surroundings(): object {
  return { folder: process.cwd(), environment: { ...process.env }, owned: shared.map((one) => Reflect.ownKeys(one)) };
}

const before = surroundings();
afterAll(() => expect(surroundings()).toEqual(before));
