import { expect, it } from "vitest";
import { seal, unseal } from "./sealed-bytes.ts";

const key = Buffer.alloc(32, 1);

it("opens only unchanged, with its key, for what it is about", () => {
  const sealed = seal(Buffer.from("secret"), "this", key);
  expect(Buffer.from(unseal(sealed, "this", key) ?? []).toString()).toBe("secret");
  expect(unseal(sealed, "that", key)).toBeUndefined();
  expect(unseal(sealed, "this", Buffer.alloc(32, 2))).toBeUndefined();
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(unseal(changed, "this", key), `byte ${at}`).toBeUndefined();
    expect(unseal(sealed.subarray(0, at), "this", key), `length ${at}`).toBeUndefined();
  }
});
