import { expect, it } from "vitest";
import { readOptions } from "./options.ts";

it("reads the options of both kinds of run", () => {
  expect(readOptions(["--kills", "3", "--folders", "1"])).toEqual({
    ...{ store: "sqlite", kills: 3, folders: 1, json: false, idle: false },
  });
  expect(readOptions(["--store", "postgres", "--gateways", "2", "--workers", "1", "--seed", "7"])).toEqual({
    ...{ store: "postgres", gateways: 2, workers: 1, faults: 40, seed: 7 },
  });
});

it.each([
  ["--store mysql", "`--store` is `mysql`; write `sqlite` or `postgres`."],
  ["--store postgres --faults 0", "`--faults` is `0`; write a whole number from 1 to 100000."],
  ["--store postgres --seed 1e3", "`--seed` is `1e3`; write a whole number from 0 to 2147483648."],
  ["--store postgres --gateways 9", "`--gateways` is `9`; write a whole number from 2 to 4."],
  ["--store postgres --kills 3", "`--kills` does not go with `--store postgres`; leave it out."],
  ["--seed 3", "`--seed` does not go with `--store sqlite`; leave it out."],
  ["--wrong", "Unknown option '--wrong'"],
])("refuses `%s`", (words, message) => {
  expect(() => readOptions(words.split(" "))).toThrow(message);
});
