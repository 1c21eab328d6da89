import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TableKeys } from "./keys.ts";

const scriptKey = (script: number, call: number): string =>
  `key_${String(script).padStart(12, "0")}${String(call).padStart(28, "0")}`;

describe("keys in a file", () => {
  let database: DatabaseSync;
  let keys: TableKeys;

  beforeEach(() => {
    database = new DatabaseSync(":memory:");
    database.exec("create table call_key (key text primary key, number integer not null) without rowid");
    keys = new TableKeys(database);
  });

  afterEach(() => {
    database.close();
  });

  /** Whether it is found by one who has just opened the file as well. */
  function found(key: string): number | undefined {
    const own = keys.find(key);
    expect(new TableKeys(database).find(key)).toBe(own);
    return own;
  }

  it.each([3, 64, 65, 2_000])("are found, all of %i that begin alike, and none that are not there", (count) => {
    for (let call = 0; call < count; call += 1) {
      expect(keys.find(scriptKey(1, call))).toBeUndefined();
      keys.put(scriptKey(1, call), call);
    }
    for (let call = 0; call < count; call += 1) expect(found(scriptKey(1, call))).toBe(call);
    for (const key of [scriptKey(1, count), scriptKey(0, 1), scriptKey(2, 1)]) expect(found(key)).toBeUndefined();
  });

  it("of many scripts in turn are found, however long ago they were asked for", () => {
    for (let call = 0; call < 4; call += 1)
      for (let script = 0; script < 100; script += 1) {
        expect(keys.find(scriptKey(script, call))).toBeUndefined();
        keys.put(scriptKey(script, call), 10 * script + call);
      }
    for (let script = 0; script < 100; script += 1)
      for (let call = 0; call < 4; call += 1) expect(found(scriptKey(script, call))).toBe(10 * script + call);
  });

  it("that are short, or one another's beginning, are told apart", () => {
    const odd = ["", "k", "key_000000000001", "key_0000000000010", "key_000000000001\u{10FFFF}", "key_00000000000200"];
    for (const [number, key] of odd.entries()) {
      expect(keys.find(key)).toBeUndefined();
      keys.put(key, number);
    }
    for (const [number, key] of odd.entries()) expect(found(key)).toBe(number);
  });

  it("keep the first number of a key, and are gone where their transaction was taken back", () => {
    expect(keys.find(scriptKey(1, 0))).toBeUndefined();
    keys.put(scriptKey(1, 0), 1);
    keys.put(scriptKey(1, 0), 2);
    expect(found(scriptKey(1, 0))).toBe(1);
    database.exec("begin");
    keys.put(scriptKey(1, 1), 3);
    expect(keys.find(scriptKey(1, 1))).toBe(3);
    database.exec("rollback");
    keys.undo();
    expect([found(scriptKey(1, 0)), found(scriptKey(1, 1))]).toEqual([1, undefined]);
  });
});
