import type { Json } from "@postern/core";
import { expect, it } from "vitest";
import type { Redactor } from "../secrets/secret-store.ts";
import { cleanResult } from "./clean.ts";

function cleaned(structured: Json, secret: string): Json | undefined {
  const redactor: Redactor = {
    learn() {},
    redact: (text) => text.replaceAll(secret, "[redacted]"),
    finds: (text) => text.includes(secret),
  };
  return cleanResult({ content: [], structured, isError: false }, redactor).structured?.value;
}

it("gives the very same value back when there is no secret in it", () => {
  const structured = { plain: [1, true, null] };
  expect(cleaned(structured, "sesame")).toBe(structured);
});

it("masks a secret that is a number in the JSON", () => {
  expect(cleaned({ pin: 12345678, on: true, no: null }, "12345678")).toEqual({
    pin: "[redacted]",
    on: true,
    no: null,
  });
});

it("leaves everything else readable when the mask would have broken an escape", () => {
  expect(cleaned({ text: "a\nabcdef", list: ["nabcdef!"] }, "nabcdef")).toEqual("[redacted]");
  expect(cleaned({ n: 7777777, list: ["7777777!"] }, "7777777")).toEqual({
    n: "[redacted]",
    list: ["[redacted]!"],
  });
});

it("masks the whole value when the secret reaches over its parts", () => {
  expect(cleaned(["one", { two: 3 }], 'one",{"tw')).toBe("[redacted]");
});
