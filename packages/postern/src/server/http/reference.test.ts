import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { faultStatuses } from "../../../../core/src/fault.ts";
import { problems } from "./answers.ts";
import { routes } from "./http-server.ts";

const text = readFileSync(fileURLToPath(new URL("../../../../../docs/reference/http.md", import.meta.url)), "utf8");
const rows = text
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()));

describe("the reference of HTTP", () => {
  it("names every route there is, each with the permission it needs, and no other", () => {
    const written = rows.flatMap(([, named = "", needs = ""]) =>
      [...named.matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/[^`?]+)/g)].map(
        ([, method, path]) => `${method} ${path}: ${needs.replace(/,.*/, "").replaceAll("`", "")}`,
      ),
    );
    const served = routes.map(({ method, path, needs }) => `${method.toUpperCase()} ${path}: ${needs}`);
    expect(written.toSorted()).toEqual(served.toSorted());
  });

  it("names every code that a request may be refused with, by its number", () => {
    const written = rows.flatMap(([, status = "", codes = ""]) =>
      /^\d{3}$/.test(status) ? [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => [code, Number(status)]) : [],
    );
    const faults = Object.entries(faultStatuses).filter(([, status]) => status !== 500);
    const codes = Object.fromEntries(written.filter(([code]) => code !== "__proto__"));
    expect(codes).toMatchObject(problems);
    expect(codes).toMatchObject(Object.fromEntries(faults));
  });
});
