import { expect, it } from "vitest";
import { grantFrom } from "./grant.ts";

const approver = { roles: ["approver"], signedIn: true, typed: false };
const stored = {
  id: "grt_1",
  tool: "mail",
  action: "default",
  definition: "d",
  until: 1,
  principal: { tenant: "default", agent: "bot" },
  asks: [],
};

it("reads a grant as it was written", () => {
  expect(grantFrom({ ...stored, approver })).toEqual({ ...stored, approver });
});

it.each([[stored], [{ ...stored, approver: "ann" }], [null], ["grant"]])("refuses the document %j", (body) => {
  expect(() => grantFrom(body)).toThrow("A grant in the store is not what Postern writes.");
});
