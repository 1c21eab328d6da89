import { RuntimeFault } from "../fault.ts";

const needed = 24;

/**
 * The entry imports this file before all others, to refuse an old Node in a sentence: one gets here as long as it knows
 * every name that they import. `bin/postern.js` says the same in an older JavaScript.
 */
const found = process.versions.node;
if (Number(found.split(".")[0]) < needed)
  throw new RuntimeFault(
    "node_too_old",
    `Postern needs Node ${needed} or newer, and this is Node ${found}: get it from https://nodejs.org/en/download or with \`nvm install ${needed}\`.`,
  );
