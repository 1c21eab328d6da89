/** Names of types in src/: each is defined once, and none is made of a word that docs/glossary.md does not have. */
import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Metaphors. The glossary has the word of the field for each. */
const metaphors = [
  ...[
    "RuntimeFixture",
    "Desk",
    "Shelf",
    "Bench",
    "Ground",
    "Reception",
    "Giver",
    "Theirs",
    "ChannelFixture",
    "Said",
    "Bell",
    "Seat",
  ],
  ...["FeedRecorder", "Entrance", "Face", "Door", "Spell", "Kept", "Begun", "Lapsed", "Standing", "Book"],
];
const word = new RegExp(`(?:${metaphors.join("|")})(?![a-z])`);

/** Where each type of src/ is defined, by its name. */
const definitions = new Map<string, string[]>();
for (const file of globSync("packages/*/src/**/*.ts")) {
  if (/\.test(-d)?\.ts$/.test(file)) continue;
  const found = readFileSync(file, "utf8").matchAll(/^(?:export )?(?:abstract )?(?:interface|type|class) (\w+)/gm);
  for (const [, name = ""] of found) definitions.set(name, [...(definitions.get(name) ?? []), file]);
}

it("finds the types", () => {
  expect(definitions.size).toBeGreaterThan(1_000);
});

it("defines each type name once", () => {
  expect([...definitions].filter(([, files]) => new Set(files).size > 1)).toEqual([]);
});

it("uses no metaphor in the name of a type", () => {
  expect([...definitions.keys()].filter((name) => word.test(name))).toEqual([]);
});
