import { expect, it } from "vitest";
import { nearest } from "./shown.ts";

it("is the one known word that is near enough to be what was meant", () => {
  expect(nearest("listn", ["listen", "limits"])).toBe("listen");
  expect(nearest("prot", ["port", "host"])).toBe("port");
  expect(nearest("A2", ["A1", "A2"])).toBe("A2");
  expect(nearest("port", ["port", "port"])).toBe("port");
});

it("is none when nothing is near, or several are equally near", () => {
  expect(nearest("zzz", ["level"])).toBeUndefined();
  expect(nearest("A7", ["A0", "A1", "A2"])).toBeUndefined();
  expect(nearest("x".repeat(65), ["x".repeat(64)])).toBeUndefined();
  expect(nearest("port", [])).toBeUndefined();
});
