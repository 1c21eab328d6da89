import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  enteredOf,
  type Fields,
  readEntered,
  rebased,
  switched,
  type WrittenAs,
  withText,
  withValue,
} from "../../console/src/kit/entered.ts";
import { readJson, readNumber, readObject } from "../../console/src/kit/json-text.ts";

const asked: Fields = { table: "orders", set: { state: "closed" }, limit: 3 };
const form = enteredOf(asked);
const handedUp = (entered: typeof form): unknown => {
  const read = readEntered(entered);
  return "value" in read ? read.value : undefined;
};

describe("a form of arguments", () => {
  it.each<[string, WrittenAs, string]>([
    ["set", "json", '{"state":"archived",}'],
    ["set", "json", '{"state":'],
    ["set", "json", '{"id":12345678901234567890}'],
    ["set", "json", '{"id":1e999}'],
    ["limit", "number", "3e"],
    ["limit", "number", "3,5"],
    ["limit", "number", "0x10"],
    ["limit", "integer", "3.5"],
    ["limit", "integer", "9007199254740993"],
  ])("hands up nothing while %s, as %s, is written as %s", (name, as, text) => {
    const other = withText(withText(form, "table", { text: "other", as: "text" }), name, { text, as });
    expect(readEntered(other)).toHaveProperty("problem", expect.stringContaining(`${name}: `));
    expect(other.written.get(name)).toMatchObject({ text, problem: expect.any(String) });
    expect(switched(other, "json")).toBeUndefined();
    const solved = withText(other, name, { text: as === "json" ? '{"a":1}' : "4", as });
    expect(handedUp(solved)).toEqual({ ...asked, table: "other", [name]: as === "json" ? { a: 1 } : 4 });
    expect(handedUp(withValue(other, name, undefined))).not.toHaveProperty(name);
  });

  it("returns for each field what the field shows, after any input", () => {
    void fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), (value) => {
        const text = JSON.stringify(value);
        expect(handedUp(withText(form, "set", { text, as: "json" }))).toEqual({ ...asked, set: JSON.parse(text) });
      }),
    );
  });

  it("takes another approver's edit where nothing was typed, and shows it", () => {
    const to = { table: "orders", set: { state: "DELETED", all: true }, limit: 9 };
    const touched = withText(withText(form, "set", { text: ' {"state": "closed"}', as: "json" }), "limit", {
      text: "1",
      as: "integer",
    });
    const after = rebased(touched, asked, to);
    expect(handedUp(after)).toEqual({ ...to, limit: 1 });
    expect(after.written.has("set")).toBe(false); // its letters were of the same value as before
    expect(after.written.get("limit")?.text).toBe("1");
  });

  it("keeps unfinished input and its problem when another approver edits the value", () => {
    const wrong = withText(form, "set", { text: '{"state":', as: "json" });
    const after = rebased(wrong, asked, { ...asked, set: { all: true } });
    expect(after.written.get("set")?.text).toBe('{"state":');
    expect(readEntered(after)).toHaveProperty("problem");
  });

  it("takes another approver's edit in JSON too", () => {
    const json = switched(form, "json");
    expect(json?.json).toContain('"closed"');
    const typed = { ...form, ...json, json: JSON.stringify({ ...asked, limit: 1 }) };
    const to = { ...asked, set: { all: true }, more: 1 };
    const after = rebased(typed, asked, to);
    expect(handedUp(after)).toEqual({ ...to, limit: 1 });
    expect(JSON.parse(after.json ?? "")).toEqual({ ...to, limit: 1 });
  });

  it("leaves out what either approver left out", () => {
    const { limit: _, ...without } = asked;
    expect(handedUp(rebased(form, asked, without))).toEqual(without);
    expect(handedUp(rebased(withValue(form, "limit", undefined), asked, { ...asked, set: {} }))).toEqual({
      ...without,
      set: {},
    });
  });

  it("takes names such as `constructor` and `__proto__`", () => {
    for (const name of ["constructor", "__proto__"]) {
      const read = handedUp(withText(enteredOf({}), name, { text: "1", as: "json" }));
      expect(JSON.stringify(read)).toBe(`{"${name}":1}`);
      expect(handedUp(rebased(enteredOf({}), {}, {}))).toEqual({});
    }
  });
});

describe("text read as JSON", () => {
  it("has its exact value, with the longest exact numbers too", () => {
    expect(
      readJson('{"a":"12345678901234567890","b":0.30000000000000004,"c":9007199254740991,"d":1.10,"e":-1e3}'),
    ).toEqual({
      value: { a: "12345678901234567890", b: 0.30000000000000004, c: 9007199254740991, d: 1.1, e: -1000 },
    });
    expect(readJson(" ")).toEqual({ value: undefined });
    expect(readNumber(" -2.5 ", false)).toEqual({ value: -2.5 });
    expect(readNumber("", true)).toEqual({ value: undefined });
  });

  it("must be an object when it is arguments", () => {
    for (const text of ["", "[]", "null", "1", "{"]) expect(readObject(text)).toHaveProperty("problem");
    expect(readObject("{}")).toEqual({ value: {} });
  });
});
