/**
 * Tests that share a process with others: a process each, and the runtime imported anew in each, cost them more than they do.
 *
 * Whatever measures its process, changes it (its folder, its environment) or counts what it has open stands apart.
 */
import { afterAll, expect } from "vitest";

const shared = [Object, Array, Function, Promise, Map, Error].map(({ prototype }) => prototype);

/** What one of them could spoil for the next. */
function surroundings(): object {
  return { folder: process.cwd(), environment: { ...process.env }, owned: shared.map((one) => Reflect.ownKeys(one)) };
}

const before = surroundings();
afterAll(() => expect(surroundings()).toEqual(before));
