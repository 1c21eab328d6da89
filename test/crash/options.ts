import { randomInt } from "node:crypto";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

/** One process at a time, with the store in a file. */
export interface ProcessRun {
  readonly store: "sqlite";
  readonly kills: number;
  readonly folders: number;
  readonly json: boolean;
  readonly idle: boolean;
}

/** Gateways and workers at once, with the store in PostgreSQL. */
export interface ClusterRun {
  readonly store: "postgres";
  readonly gateways: number;
  readonly workers: number;
  readonly faults: number;
  readonly seed: number;
}

/** An option cannot be used. The message says which, and what to write. */
export class WrongOption extends Error {}

const text = { type: "string" } as const;
const yes = { type: "boolean" } as const;
const options = {
  store: text,
  ...{ kills: text, folders: text, json: yes, idle: yes },
  ...{ gateways: text, workers: text, faults: text, seed: text },
};
const ofProcesses = ["kills", "folders", "json", "idle"] as const;
const ofClusters = ["gateways", "workers", "faults", "seed"] as const;

/** @throws WrongOption */
export function readOptions(words: readonly string[]): ProcessRun | ClusterRun {
  const values = parsed(words);
  const { store = "sqlite" } = values;
  const whole = (name: "kills" | "folders" | (typeof ofClusters)[number], limits: Limits): number =>
    wholeNumber(name, values[name], limits);
  const foreign = (names: readonly (keyof typeof values)[]): void => {
    const name = names.find((one) => values[one] !== undefined);
    if (name !== undefined) throw new WrongOption(`\`--${name}\` does not go with \`--store ${store}\`; leave it out.`);
  };
  if (store === "postgres") {
    foreign(ofProcesses);
    return {
      store,
      gateways: whole("gateways", { usual: 2, least: 2, most: 4 }),
      workers: whole("workers", { usual: 1, least: 1, most: 4 }),
      faults: whole("faults", { usual: 40, least: 1, most: 100_000 }),
      seed: whole("seed", { usual: randomInt(1_000_000), least: 0, most: 2 ** 31 }),
    };
  }
  if (store !== "sqlite") throw new WrongOption(`\`--store\` is \`${store}\`; write \`sqlite\` or \`postgres\`.`);
  foreign(ofClusters);
  return {
    store,
    kills: whole("kills", { usual: 200, least: 1, most: 1_000_000 }),
    folders: whole("folders", { usual: Math.min(2, availableParallelism()), least: 1, most: 64 }),
    json: values.json === true,
    idle: values.idle === true,
  };
}

function parsed(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    throw new WrongOption(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

interface Limits {
  readonly usual: number;
  readonly least: number;
  readonly most: number;
}

function wholeNumber(name: string, value: string | undefined, { usual, least, most }: Limits): number {
  if (value === undefined) return usual;
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new WrongOption(`\`--${name}\` is \`${value}\`; write a whole number from ${least} to ${most}.`);
}
