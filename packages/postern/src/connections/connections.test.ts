import { expect, it } from "vitest";
import { personOf } from "./connections.ts";

const agent = { tenant: "default", agent: "helper" };

it.each([
  ["its user", { user: "ada", owner: "bob" }, "ada"],
  ["the person who made its token", { owner: "bob", via: "token:tok_1" }, "bob"],
  ["the holder of the data folder", { via: "token:agent" }, "operator"],
  ["no person, if an authorization server names only the agent", { via: "oauth:issuer" }, "agent helper"],
])("makes a call for %s", (_, more, user) => {
  expect(personOf({ ...agent, ...more })).toMatchObject({ tenant: "default", user });
});
